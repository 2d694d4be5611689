import { loadConfig } from '@muster/platform';
import { FakeModel, buildTestEnvironment } from '@muster/testing';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Models } from './models';
import { ModelsConfig } from './models.config';

const hello = { messages: [{ role: 'user' as const, content: 'Hello?' }] };
const meter = { open: () => Promise.resolve(() => Promise.resolve(0)) };
const createModels = (env: Record<string, string> = {}) =>
  new Models(loadConfig(ModelsConfig, buildTestEnvironment('postgres://none/none', env)));

describe('models', () => {
  let fake: FakeModel;

  beforeAll(async () => {
    fake = await FakeModel.start();
  });
  beforeEach(() => fake.reset());
  afterEach(() => expect(fake.faults).toEqual([]));
  afterAll(() => fake.close());

  const buildModelEndpoint = () => ({
    baseUrl: fake.url,
    name: fake.name,
    visionName: fake.visionName,
    apiKey: fake.key,
  });

  it('the deployment’s model is called at any configured address', async () => {
    const models = createModels(fake.environment);
    fake.addResponses('Here.');
    expect(await models.openDeploymentModel(meter)!.answerChat(hello)).toMatchObject({ content: 'Here.' });
    models.onApplicationShutdown();
  });

  it('an organization’s model is not called at a private address', async () => {
    const models = createModels(fake.environment);
    const call = models.openOwnerModel('acme', buildModelEndpoint(), meter).answerChat(hello);
    await expect(call).rejects.toMatchObject({ code: 'model_failed', reason: 'unreachable' });
    await expect(models.checkModelAddress(fake.url)).rejects.toThrow('not a public address');
    expect(fake.calls).toEqual([]);
  });

  it('a redirect from an organization’s model is not followed', async () => {
    const redirecting = createServer((_, response) => response.writeHead(307, { location: fake.url }).end());
    await new Promise<void>((resolve) => redirecting.listen(0, '127.0.0.1', resolve));
    const { port } = redirecting.address() as AddressInfo;
    const models = createModels({ OUTBOUND_ALLOW: '127.0.0.1' });
    const elsewhere = models.openOwnerModel(
      'acme',
      { ...buildModelEndpoint(), baseUrl: `http://127.0.0.1:${port}/v1` },
      meter,
    );
    await expect(elsewhere.answerChat(hello)).rejects.toMatchObject({ code: 'model_failed', reason: 'status' });
    expect(fake.calls).toEqual([]);
    fake.addResponses('Ours.');
    expect(await models.openOwnerModel('acme', buildModelEndpoint(), meter).answerChat(hello)).toMatchObject({
      content: 'Ours.',
    });
    models.onApplicationShutdown();
    redirecting.closeAllConnections();
    redirecting.close();
  });

  it('a slow model of one organization does not delay the calls of another organization', async () => {
    const models = createModels({ OUTBOUND_ALLOW: '127.0.0.1', MODEL_MAX_CONCURRENT: '1' });
    const gone = new AbortController();
    fake.addResponses({ hang: true }, 'Ours.');
    const slow = models
      .openOwnerModel('slow', buildModelEndpoint(), meter)
      .answerChat({ ...hello, signal: gone.signal });
    slow.catch(() => undefined);
    expect(await models.openOwnerModel('acme', buildModelEndpoint(), meter).answerChat(hello)).toMatchObject({
      content: 'Ours.',
    });
    gone.abort();
    await expect(slow).rejects.toThrow('aborted');
    models.onApplicationShutdown();
  });

  it('the deployment has no model if none is configured', () => {
    expect(createModels().openDeploymentModel(meter)).toBeNull();
    expect(() => createModels({ MODEL_NAME: 'x' })).toThrow('belong together');
  });
});
