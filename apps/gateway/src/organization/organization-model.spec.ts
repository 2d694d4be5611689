import { bookJobCost } from '@muster/jobs';
import {
  type ModelCaller,
  openModelForCaller,
  recomputeCosts,
  findUnequalCounters,
  verifyCostDays,
} from '@muster/pricing';
import { FakeModel, type Harness, makeAgent, startHarness, type Tenant } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { Clock, newId } from '@muster/platform';
import { Models } from '@muster/models';
import { gateway } from '../gateway.harness';

const path = '/api/organization/model';
const hello = [{ role: 'user' as const, content: 'Hello?' }];

const getModelParts = ({ app: { nest }, db: database }: Harness) => ({
  ...{ database, keyRing: nest.get(KeyRing, { strict: false }), models: nest.get(Models, { strict: false }) },
  clock: nest.get(Clock, { strict: false }),
});

describe('language models', () => {
  let fake: FakeModel;
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    fake = await FakeModel.start();
    harness = await startHarness({ ...gateway, env: { ...fake.environment, OUTBOUND_ALLOW: '127.0.0.1' } });
  });
  beforeEach(async () => {
    fake.reset();
    tenant = await harness.makeTenant();
  });
  afterEach(() => expect(fake.faults).toEqual([]));
  afterAll(async () => {
    await harness.close();
    await fake.close();
  });

  const openModel = (overrides: Partial<ModelCaller> = {}) =>
    openModelForCaller(getModelParts(harness), {
      organizationId: tenant.organizationId,
      purpose: 'chat',
      ...overrides,
    });
  const setModelPrices = () =>
    tenant.as.admin.put('/api/organization/model-prices', {
      prices: [
        ...[fake.name, fake.visionName].map((model) => ({
          ...{ provider: 'openai-compatible', model, inputUsdPerMillion: 1000, outputUsdPerMillion: 2000 },
          from: '2020-01-01',
        })),
      ],
    });
  const setSpendLimit = (monthlySpendLimitUsd: number) =>
    tenant.as.admin.patch('/api/organization/settings', { monthlySpendLimitUsd });
  const readModelCalls = () =>
    harness.db.query<Record<string, unknown>>(
      'system',
      'SELECT * FROM model_call WHERE organization_id = $1 ORDER BY id',
      [tenant.organizationId],
    );
  const readCostsBy = async (groupBy: string) => (await tenant.as.viewer.get(`/api/costs?groupBy=${groupBy}`)).body;

  describe('an organization’s own model', () => {
    const buildOwnModel = () => ({ baseUrl: fake.url, name: fake.name, apiKeyVaultKey: 'OWN_MODEL_KEY' });
    const putKey = (value = 'own-key-of-acme') => tenant.as.admin.put('/api/vault/OWN_MODEL_KEY', { value });

    it('an organization’s model is changed and deleted only at the revision that If-Match names', async () => {
      const { admin } = tenant.as;
      await putKey();
      const createClientWithEtag = (etag: string) => admin.with({ 'if-match': etag });
      expect((await createClientWithEtag('"any"').put(path, buildOwnModel())).body.code).toBe('precondition_failed');
      expect((await admin.get(path)).status).toBe(404);
      const etag = (await admin.put(path, buildOwnModel())).headers.get('etag')!;
      expect((await admin.get(path)).headers.get('etag')).toBe(etag);
      const both = await Promise.all(
        ['one', 'two'].map((name) => createClientWithEtag(etag).put(path, { ...buildOwnModel(), name })),
      );
      expect(both.map(({ status }) => status).sort()).toEqual([200, 412]);
      const winner = both.find(({ status }) => status === 200)!;
      expect((await createClientWithEtag(etag).delete(path)).status).toBe(412);
      expect((await admin.get(path)).body).toEqual(winner.body);
      expect((await createClientWithEtag(winner.headers.get('etag')!).delete(path)).status).toBe(204);
      expect((await createClientWithEtag('*').put(path, buildOwnModel())).status).toBe(412);
    });

    it('only admins can set, read and delete the organization’s model, and never see its key', async () => {
      const { admin, member } = tenant.as;
      expect(await admin.get(path)).toMatchObject({ status: 404 });
      await putKey();
      fake.keys.add('own-key-of-acme');
      expect(await member.put(path, buildOwnModel())).toMatchObject({ status: 403 });
      const presented = { ...buildOwnModel(), visionName: null };
      expect(await admin.put(path, buildOwnModel())).toMatchObject({ status: 200, body: presented });
      const read = await admin.get(path);
      expect(read.body).toEqual(presented);
      expect(read.text).not.toContain('own-key-of-acme');
      fake.addResponses('Ours.');
      await (await openModel()).answerChat({ messages: hello });
      expect(fake.calls[0]!.headers.authorization).toBe('Bearer own-key-of-acme');
      expect(await admin.delete(path)).toMatchObject({ status: 204 });
      expect(await admin.delete(path)).toMatchObject({ status: 404 });
      const { entries } = (await admin.get('/api/audit')).body;
      expect(entries.map(({ action }: { action: string }) => action)).toEqual(
        expect.arrayContaining(['organization.put_model', 'organization.delete_model']),
      );
      fake.addResponses('The deployment’s.');
      await (await openModel()).answerChat({ messages: hello });
      expect(fake.calls[1]!.headers.authorization).toBe(`Bearer ${fake.key}`);
      expect(harness.logs.join('')).not.toMatch(/own-key-of-acme|Hello\?/);
    });

    it.each([
      ['a private address', { baseUrl: 'http://10.0.0.1/v1' }, 'baseUrl'],
      ['the cloud’s metadata address', { baseUrl: 'http://169.254.169.254/v1' }, 'baseUrl'],
      ['an address that is not http', { baseUrl: 'ftp://example.com' }, 'baseUrl'],
      ['an unknown secret', { apiKeyVaultKey: 'NOBODYS_KEY' }, 'apiKeyVaultKey'],
      ['an empty name', { name: '' }, 'name'],
    ])('an organization’s model with %s is refused and nothing changes', async (_, change, field) => {
      await putKey();
      const answer = await tenant.as.admin.put(path, { ...buildOwnModel(), ...change });
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_payload', errors: [{ field }] } });
      expect(await tenant.as.admin.get(path)).toMatchObject({ status: 404 });
    });

    it('a model call fails without a call of another model if the secret with the model’s key was deleted', async () => {
      await putKey();
      await tenant.as.admin.put(path, buildOwnModel());
      await tenant.as.admin.delete('/api/vault/OWN_MODEL_KEY');
      await expect(openModel()).rejects.toMatchObject({ code: 'model_not_configured', status: 503 });
      expect(fake.calls).toEqual([]);
    });
  });

  describe('costs of model calls', () => {
    it('a model call is added to the costs by model, machine and day, and to the month’s spend', async () => {
      await setModelPrices();
      const { id: agentId } = await makeAgent(harness.db, {
        organizationId: tenant.organizationId,
        name: 'Front desk',
      });
      const sessionId = newId();
      fake.addResponses({ content: 'One.', usage: { inputTokens: 300, outputTokens: 50 } });
      const answer = await (await openModel({ agentId, sessionId })).answerChat({ messages: hello });
      expect(answer.usage).toEqual({ calls: 1, inputTokens: 300, outputTokens: 50, costMicros: 400_000 });
      fake.addResponses({ content: 'One two three', cutAfter: 3, usage: null });
      const stream = (await openModel({ purpose: 'autopilot' })).streamChat({ messages: hello });
      await expect(
        (async () => {
          for await (const delta of stream) expect(delta.kind).toBe('text');
        })(),
      ).rejects.toMatchObject({ code: 'model_failed' });
      const [first, second] = await readModelCalls();
      expect(first).toMatchObject({
        ...{ provider: 'openai-compatible', model: fake.name, purpose: 'chat', agentId, sessionId, jobId: null },
        ...{ inputTokens: 300, outputTokens: 50, costMicros: 400_000, outcome: 'answered', estimated: false },
      });
      expect(second).toMatchObject({ outcome: 'cut', estimated: true, outputTokens: 2, purpose: 'autopilot' });
      const cut = Number(second!['costMicros']) / 1e6;
      expect(cut).toBeGreaterThan(0);
      const total = Math.round((0.4 + cut) * 1e6) / 1e6;
      expect(await readCostsBy('model')).toMatchObject({
        totalUsd: total,
        groups: [{ key: `openai-compatible/${fake.name}`, runs: 0, aiUsd: total, totalUsd: total }],
      });
      expect((await readCostsBy('agent')).groups).toEqual([
        expect.objectContaining({ key: agentId, label: 'Front desk', totalUsd: 0.4 }),
        expect.objectContaining({ key: 'none', totalUsd: cut }),
      ]);
      for (const groupBy of ['day', 'workflow', 'schedule']) {
        expect(await readCostsBy(groupBy)).toMatchObject({ totalUsd: total, groups: [{ totalUsd: total }] });
      }
      expect((await tenant.as.viewer.get('/api/usage')).body).toMatchObject({ runs: 0, spendUsd: total });
      expect(await findUnequalCounters(harness.db, [tenant.organizationId])).toEqual([]);
      expect(await verifyCostDays(harness.db, tenant.organizationId)).toEqual([]);
      expect(await readCostsBy('model')).toMatchObject({ totalUsd: total });
    });

    it('a failed model call costs nothing and is recorded as failed', async () => {
      await setModelPrices();
      fake.addRule(() => ({ status: 500, headers: { 'retry-after': '0' } }));
      await expect((await openModel()).answerChat({ messages: hello })).rejects.toMatchObject({ code: 'model_failed' });
      expect(await readModelCalls()).toMatchObject([{ outcome: 'failed', costMicros: 0, inputTokens: 0 }]);
      expect(await readCostsBy('model')).toMatchObject({ totalUsd: 0, groups: [] });
    });

    it('a model call without a price costs nothing until a price is set and costs are recomputed', async () => {
      fake.addResponses({ content: 'One.', usage: { inputTokens: 300, outputTokens: 50 } });
      await (await openModel()).answerChat({ messages: hello });
      expect(await readCostsBy('model')).toMatchObject({ totalUsd: 0, groups: [{ runs: 0, totalUsd: 0 }] });
      await setModelPrices();
      const today = new Date().toISOString().slice(0, 10);
      const again = await tenant.as.admin.post('/api/organization/model-prices/recompute', { from: today, to: today });
      const { recomputeId } = again.body;
      for (let times = 0; times < 2; times += 1) {
        await recomputeCosts(harness.db, recomputeId, (tx, jobId) => bookJobCost(tx, jobId, { reprice: true }));
      }
      expect(await readCostsBy('model')).toMatchObject({ totalUsd: 0.4, groups: [{ runs: 0, totalUsd: 0.4 }] });
      expect((await tenant.as.viewer.get('/api/usage')).body).toMatchObject({ spendUsd: 0.4 });
      expect(await findUnequalCounters(harness.db, [tenant.organizationId])).toEqual([]);
    });
  });

  describe('limits for model calls', () => {
    it('model calls are refused when the month’s spend limit is used up', async () => {
      await setModelPrices();
      await setSpendLimit(0.4);
      fake.addResponses({ content: 'One.', usage: { inputTokens: 300, outputTokens: 50 } });
      const model = await openModel();
      await model.answerChat({ messages: hello });
      await expect(model.answerChat({ messages: hello })).rejects.toMatchObject({
        code: 'billing_gate_closed',
        status: 402,
      });
      expect(fake.calls).toHaveLength(1);
      expect(await readModelCalls()).toHaveLength(1);
      await setSpendLimit(1);
      fake.addResponses('Again.');
      expect(await model.answerChat({ messages: hello })).toMatchObject({ content: 'Again.' });
    });

    it('model calls of a suspended organization are refused', async () => {
      await harness.db.query('system', 'UPDATE organization SET suspended = true WHERE id = $1', [
        tenant.organizationId,
      ]);
      await expect((await openModel()).answerChat({ messages: hello })).rejects.toMatchObject({
        code: 'billing_gate_closed',
      });
      expect(fake.calls).toEqual([]);
    });

    it('model calls are allowed when the month’s run limit is used up, because they are not runs', async () => {
      await tenant.as.admin.patch('/api/organization/settings', { monthlyRunLimit: 0 });
      fake.addResponses('Still here.');
      expect(await (await openModel()).answerChat({ messages: hello })).toMatchObject({ content: 'Still here.' });
    });
  });
});

describe('a deployment without a language model', () => {
  it('a model is opened only if one is configured; otherwise the error is model_not_configured', async () => {
    const harness = await startHarness(gateway);
    const { organizationId } = await harness.makeTenant();
    await expect(openModelForCaller(getModelParts(harness), { organizationId, purpose: 'chat' })).rejects.toMatchObject(
      {
        ...{ code: 'model_not_configured', status: 503 },
      },
    );
    await harness.close();
  });
});
