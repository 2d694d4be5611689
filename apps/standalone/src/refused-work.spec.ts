import { ModulesContainer } from '@nestjs/core';
import { openApiDocument, queueCatalogue, type QueueName } from '@muster/contracts';
import { AppLoops, listHandlers, Metrics, newId, QueueProcessor } from '@muster/platform';
import { type Harness, startHarness, type Tenant } from '@muster/testing';
import { Client } from 'pg';
import { listCallers } from './callers.harness';
import { foreignResources } from './foreign-resources.harness';
import { standalone } from './standalone';
import { type Access, buildExampleBody, fillPath, listOperations, addQuery } from './walk-openapi';

/** Nothing listens at these addresses. They only turn on the synchronization of feedback and the mails. */
const env = {
  RATE_LIMIT_PER_MINUTE: '1000000',
  FEEDBACK_AUTOMATION_ENABLED: 'true',
  FEEDBACK_CODEHOST_API_URL: 'http://127.0.0.1:9',
  FEEDBACK_CODEHOST_TOKEN: 'token',
  FEEDBACK_CODEHOST_REPOSITORY: 'muster/test',
  SMTP_URL: 'smtp://127.0.0.1:9',
  SMTP_FROM: 'Muster <muster@example.com>',
};

/**
 * Work that the database refuses must not be reported as done: a request is not answered with success, a message stays
 * in its queue, and a loop records the failure. A step that nothing waits for is reported as done.
 */
describe('work that the database refuses', () => {
  let harness: Harness;
  let tenant: Tenant;
  let providers: unknown[];
  let owner: Client;
  const resourceIds: Record<string, string> = {};

  beforeAll(async () => {
    harness = await startHarness({ ...standalone, env });
    tenant = await harness.makeTenant();
    for (const [path, create] of Object.entries(foreignResources)) resourceIds[path] = await create(tenant, harness.db);
    providers = [...harness.app.nest.get(ModulesContainer).values()].flatMap((module) =>
      [...module.providers.values()].map(({ instance }): unknown => instance),
    );
    owner = new Client({ connectionString: harness.databaseUrl });
    await owner.connect();
    await revokePrivileges('INSERT, UPDATE, DELETE');
  });
  afterAll(async () => {
    await owner.end();
    await harness.close();
  });

  const revokePrivileges = (privileges: string) =>
    owner.query(`REVOKE ${privileges} ON ALL TABLES IN SCHEMA public FROM muster_app, muster_system`);

  /** Routes that write no row: one passes an image on to people who watch, and one only computes times. */
  const changesNothing = ['POST /api/jobs/{id}/screen/frames', 'POST /api/schedules/preview'];

  it('no request that changes something succeeds while the database refuses to write', async () => {
    const succeeded: string[] = [];
    let refused = 0;
    const operations = listOperations(openApiDocument).filter(({ method, access }) => {
      return method !== 'GET' && typeof access === 'object';
    });
    for (const operation of operations) {
      const resource = Object.keys(resourceIds).find((path) => operation.path.startsWith(path));
      const path = addQuery(fillPath(operation.path, resource && resourceIds[resource]), operation);
      const body = buildExampleBody(openApiDocument, operation);
      const client = listCallers(tenant, operation.access as Access).admitted.at(-1)!;
      const { status } = await client.send(operation.method, path, body as object | undefined);
      if (status < 300) succeeded.push(`${operation.method} ${operation.path}`);
      if (status >= 500) refused += 1;
    }
    expect(succeeded).toEqual(changesNothing);
    expect(refused).toBeGreaterThan(60);
  });

  it('the handler of every queue message fails while the database refuses to write, so that the message is tried again', async () => {
    await revokePrivileges('ALL');
    await owner.query('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC, muster_app, muster_system');
    const processors = new Set(providers.filter((each): each is QueueProcessor => each instanceof QueueProcessor));
    const handlers = [...processors].flatMap((processor) =>
      listHandlers(processor.constructor).map((handler) => ({ processor, ...handler })),
    );
    const all = (Object.keys(queueCatalogue) as QueueName[]).flatMap((queue) =>
      Object.keys(queueCatalogue[queue].jobs),
    );
    expect(handlers.map(({ job }) => job).sort()).toEqual(all.sort());
    const ids = Object.fromEntries(
      'job agent organization command wake analysis batch session submission endpoint link probe pilotBatch recompute'
        .split(' ')
        .map((name) => [`${name}Id`, newId()]),
    );
    const succeeded: string[] = [];
    for (const { processor, job, method } of handlers) {
      const methods = processor as unknown as Record<string, (...values: object[]) => Promise<void>>;
      await methods[method]!(ids, { id: newId(), isSettled: false }).then(
        () => succeeded.push(job),
        () => undefined,
      );
    }
    // This handler only starts a delivery, which a loop repeats.
    expect(succeeded).toEqual(['send-due']);
  });

  it('a round of every maintenance loop fails while the database refuses to write', async () => {
    const loops = providers.flatMap((each) => (each instanceof AppLoops ? each['loops'] : []));
    for (const loop of loops) await loop.runOnce();
    const { loopSeconds, loopRows } = harness.app.nest.get(Metrics);
    const failed = [
      ...(await loopSeconds.get()).values.filter(({ labels }) => labels.outcome === 'failed'),
      // A loop that processes each table by itself records a failure of each.
      ...(await loopRows.get()).values.filter(({ labels, value }) => labels.outcome === 'unsettled' && value > 0),
    ].map(({ labels }) => labels.loop);
    const names = loops.map((loop) => loop['spec'].name);
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !failed.includes(name))).toEqual([]);
  });
});
