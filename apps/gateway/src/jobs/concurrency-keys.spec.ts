import { type Harness, makeAgent, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('concurrency keys at the gateway', () => {
  let harness: Harness;
  let tenant: Tenant;
  const path = '/api/concurrency-keys';

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  it('concurrency keys are listed with holders, waiting runs and limits, only to their organization', async () => {
    const { organizationId } = tenant;
    const { id: agentId } = await makeAgent(harness.db, { organizationId, status: 'online' });
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
    const launchWithKeys = async (...keys: object[]) =>
      (await tenant.api.post('/api/jobs/launch', { workflowId, agentId, concurrencyKeys: keys })).body.jobId as string;
    const first = await launchWithKeys({ key: 'Delta:a', limit: 3 }, { key: 'cigna' });
    await launchWithKeys({ key: 'Delta:a', limit: 2 });
    await harness.db.query('system', 'UPDATE concurrency_lease SET since = now() WHERE job_id = $1', [first]);
    const { body } = await tenant.as.viewer.get(`${path}?q=delta`);
    const state = { key: 'Delta:a', limit: 2, paused: false, held: 1, waiting: 1 };
    expect(body).toEqual({
      concurrencyKeys: [{ ...state, oldestWaitingSince: expect.stringMatching(/^20/) }],
      nextCursor: null,
    });
    const page = (await tenant.api.get(`${path}?limit=1`)).body;
    const rest = (await tenant.api.get(`${path}?limit=1&cursor=${encodeURIComponent(page.nextCursor)}`)).body;
    expect([page, rest].map(({ concurrencyKeys }) => concurrencyKeys[0].key).sort()).toEqual(['Delta:a', 'cigna']);
    expect((await tenant.api.get(`${path}/holders?key=Delta:a`)).body).toEqual({
      holders: [{ jobId: first, agentId, since: expect.stringMatching(/^20/) }],
    });
    const other = await harness.makeTenant();
    expect((await other.api.get(path)).body.concurrencyKeys).toEqual([]);
    expect((await other.api.get(`${path}/holders?key=Delta:a`)).body).toEqual({ holders: [] });
  });

  it('a workflow’s concurrency keys, which may use only its variables, apply to its runs, also in batches', async () => {
    const { organizationId } = tenant;
    const { id: agentId } = await makeAgent(harness.db, { organizationId, name: 'Second desk', status: 'online' });
    const body = { name: 'Keyed', variables: ['USER'], script: 'print(1)', concurrencyKeys: [{ key: 'in:{{USER}}' }] };
    const created = await tenant.as.member.post('/api/workflows', body);
    expect([created.status, created.body.concurrencyKeys]).toEqual([201, [{ key: 'in:{{USER}}' }]]);
    const wrong = { concurrencyKeys: [{ key: 'in:{{PASSWORD}}' }] };
    expect((await tenant.as.member.patch(`/api/workflows/${created.body.id}`, wrong)).status).toBe(400);
    expect((await tenant.as.member.post('/api/workflows', { ...body, ...wrong })).status).toBe(400);
    const batch = {
      workflowId: created.body.id,
      agentIds: [agentId],
      rows: [{ USER: 'ann' }, { USER: 'bob' }, { USER: 'ann' }],
    };
    const queued = await tenant.api.post('/api/jobs/batch', batch);
    expect(queued.body).toMatchObject({ queued: 3 });
    const { concurrencyKeys } = (await tenant.api.get(`${path}?q=in:`)).body;
    expect(concurrencyKeys).toMatchObject([
      { key: 'in:ann', waiting: 2, limit: 1 },
      { key: 'in:bob', waiting: 1 },
    ]);
    const none = await tenant.as.member.patch(`/api/workflows/${created.body.id}`, { concurrencyKeys: [] });
    expect(none.body.concurrencyKeys).toEqual([]);
  });

  it('only admins can set and remove the limit of a concurrency key', async () => {
    const { admin, member } = tenant.as;
    const body = { key: 'paused', limit: 0 };
    expect((await member.put(path, body)).status).toBe(403);
    expect((await admin.put(path, body)).body).toEqual({ ...body, paused: true });
    expect((await admin.get(`${path}?q=paused`)).body.concurrencyKeys).toEqual([
      { ...body, paused: true, held: 0, waiting: 0, oldestWaitingSince: null },
    ]);
    expect((await admin.put(path, { key: 'paused', limit: 4 })).body).toMatchObject({ limit: 4, paused: false });
    for (const wrong of [{ key: 'x' }, { key: '', limit: 1 }, { key: 'x', limit: -1 }, { key: 'x', limit: 1001 }])
      expect((await admin.put(path, wrong)).status).toBe(400);
    expect((await admin.delete(`${path}?key=paused`)).status).toBe(204);
    expect((await admin.delete(`${path}?key=paused`)).status).toBe(404);
    expect((await admin.delete(path)).status).toBe(400);
    expect((await admin.get(`${path}/holders`)).status).toBe(400);
  });
});
