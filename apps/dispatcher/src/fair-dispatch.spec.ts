import { type Harness, makeAgent, makeOrganization, makeWorkflow, startHarness, waitFor } from '@muster/testing';
import { dispatcherConfigs } from './dispatcher.config';
import { DispatcherModule } from './dispatcher.module';

const waiting = 600;

describe('a dispatcher with hundreds of agents whose jobs cannot start', () => {
  let harness: Harness;
  const querySql = (text: string, values: unknown[] = []) => harness.db.query<any>('system', text, values);

  beforeAll(async () => {
    const env = { DISPATCH_SWEEP_MS: '100' };
    harness = await startHarness({ name: 'dispatcher', configs: dispatcherConfigs, modules: [DispatcherModule], env });
    // Half of the agents have a machine that is off and is not started. The other half are free, but their
    // organization may have only one run at a time, and this run is in progress elsewhere.
    for (const [name, status, reason] of [
      ['Off', 'stopped', 'agent_offline'],
      ['Free', 'online', 'concurrency_limit'],
    ]) {
      const { id: organizationId } = await makeOrganization(harness.db, { name });
      await querySql(
        `UPDATE organization_settings SET vm_auto_wake_on_job = false, max_concurrent_runs = 1 WHERE organization_id = $1`,
        [organizationId],
      );
      const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
      await querySql(
        `WITH new_agents AS (
           INSERT INTO agent (id, organization_id, name, status, provider, last_seen)
           SELECT ('00000000-0000-7000-8000-' || substr(md5($2 || n), 1, 12))::uuid, $1, $2 || ' ' || n, $3, 'external', now()
           FROM generate_series(1, $5::int) n RETURNING id)
         INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, waiting_reason, waiting_since)
         SELECT gen_random_uuid(), $1, $6, 1, id, $4, now() - interval '10 minutes' FROM new_agents`,
        [organizationId, name, status, reason, waiting, workflowId],
      );
    }
  }, 60_000);
  afterAll(() => harness.close());

  it('a dispatcher starts a due retry and sweeps every agent even if hundreds of agents wait', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
    const agent = await makeAgent(harness.db, { organizationId, name: 'Ready', status: 'online' });
    await querySql('UPDATE agent SET last_seen = now() WHERE id = $1', [agent.id]);
    const [{ id }] = await querySql(
      `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, waiting_reason, waiting_since, attempt)
       VALUES (gen_random_uuid(), $1, $2, 1, $3, 'retry_delay', now(), 2) RETURNING id`,
      [organizationId, workflowId, agent.id],
    );
    await waitFor('the retry’s command', async () => {
      const [job] = await querySql('SELECT command_id FROM job WHERE id = $1', [id]);
      return job.commandId !== null;
    });
    await waitFor('the sweep of every waiting agent', async () => {
      const [{ count }] = await querySql(
        `SELECT count(*)::int FROM agent WHERE dispatch_swept_at IS NOT NULL AND (name LIKE 'Off %' OR name LIKE 'Free %')`,
      );
      return count === 2 * waiting;
    });
    const [{ started }] = await querySql(
      `SELECT count(*)::int AS started FROM job j JOIN agent a ON a.id = j.agent_id
       WHERE (a.name LIKE 'Off %' OR a.name LIKE 'Free %') AND j.command_id IS NOT NULL`,
    );
    // Each organization may run one job at a time, and only one of the two organizations has online agents.
    expect(started).toBe(1);
  });
});
