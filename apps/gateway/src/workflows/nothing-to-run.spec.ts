import { type Harness, makeAgent, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('a workflow without a script or steps', () => {
  let harness: Harness;
  let tenant: Tenant;
  let agentId: string;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    agentId = (await makeAgent(harness.db, tenant)).id;
  });
  afterAll(() => harness.close());

  const createWorkflow = async (body: object = {}) =>
    (await tenant.api.post('/api/workflows', { name: 'Empty', ...body })).body.id as string;
  const listRunRequests = (workflowId: string): [string, () => Promise<{ status: number; body: any }>][] => {
    const cron = { name: 's', cronExpression: '0 6 * * *', agentId, scriptId: workflowId };
    return [
      ['launch', () => tenant.api.post('/api/jobs/launch', { workflowId, agentId })],
      ['run', () => tenant.api.post(`/api/agents/${agentId}/run`, { workflowId })],
      ['batch', () => tenant.api.post('/api/jobs/batch', { workflowId, agentIds: [agentId], rows: [{}] })],
      ['schedule', () => tenant.api.post('/api/schedules', cron)],
      ['script', () => tenant.api.post(`/api/agents/${agentId}/script`, { action: 'push', workflowId })],
    ];
  };
  const countRows = () =>
    harness.db.query(
      'system',
      `SELECT (SELECT count(*) FROM job) AS jobs, (SELECT count(*) FROM batch) AS batches,
              (SELECT count(*) FROM schedule) AS schedules, (SELECT count(*) FROM agent_command) AS commands`,
    );

  it('a workflow without a script or steps is refused with 409 in every route that would run it', async () => {
    const before = await countRows();
    for (const workflowId of [await createWorkflow(), await createWorkflow({ script: ' \n\t' })]) {
      for (const [route, ask] of listRunRequests(workflowId)) {
        const { status, body } = await ask();
        expect([route, status, body.code]).toEqual([route, 409, 'nothing_to_run']);
      }
    }
    expect(await countRows()).toEqual(before);
  });

  it('a workflow without a script or steps can be run after it gets a step or a script', async () => {
    await harness.db.query('system', "UPDATE agent SET status = 'online' WHERE id = $1", [agentId]);
    const steps = [{ id: 'a', type: 'wait', ms: 1 }];
    for (const workflowId of [await createWorkflow({ steps }), await createWorkflow({ script: 'pass' })]) {
      for (const [route, ask] of listRunRequests(workflowId)) {
        const { status } = await ask();
        expect([route, [201, 202].includes(status)]).toEqual([route, true]);
      }
    }
  });
});
