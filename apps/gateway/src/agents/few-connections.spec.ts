import { type Harness, makeAgent, makeJob, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

/** If every connection has a transaction that waits for a second connection, all of them wait forever. */
describe('actions with fewer connections than requests', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, env: { DATABASE_POOL_SIZE: '2' } });
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  it.each([
    ['start_job', 202],
    ['stop_job', 200],
  ])('each of eight concurrent %s requests needs only one database connection', async (action, expected) => {
    const { organizationId } = tenant;
    const jobs = await Promise.all(
      Array.from({ length: 8 }, async (_, at) => {
        const { id: agentId } = await makeAgent(harness.db, {
          organizationId,
          name: `${action} ${at}`,
          status: 'online',
        });
        return makeJob(harness.db, { organizationId, agentId });
      }),
    );
    const answers = await Promise.all(
      jobs.map(({ id, agentId }) => tenant.api.post(`/api/agent/${agentId}/action`, { action, jobId: id })),
    );
    expect(answers.map(({ status }) => status)).toEqual(jobs.map(() => expected));
  });
});
