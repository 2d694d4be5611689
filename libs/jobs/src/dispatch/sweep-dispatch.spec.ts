import { Round } from '@muster/platform';
import { runBesideLock, makeAgent } from '@muster/testing';
import { applyJobReport } from '../reports/apply-job-report';
import { findJob } from '../lists/job-row';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { sweepDispatch } from './sweep-dispatch';

const waitingAgents = 600;

describe('the dispatch sweep', () => {
  let fixture: JobsFixture;

  beforeAll(async () => {
    fixture = await openJobsFixture();
    // Inserts stopped agents that are not woken automatically, each with a job that has waited for ten minutes. Their
    // ids sort before all other ids.
    await fixture.query('UPDATE organization_settings SET vm_auto_wake_on_job = false');
    await fixture.query(
      `INSERT INTO agent (id, organization_id, name, status, provider)
       SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, 'Off ' || n, 'stopped', 'local'
       FROM generate_series(1, $2) n`,
      [fixture.organizationId, waitingAgents],
    );
    await fixture.query(
      `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, waiting_reason, waiting_since)
       SELECT gen_random_uuid(), organization_id, $1, 1, id, 'agent_offline', now() - interval '10 minutes'
       FROM agent WHERE name LIKE 'Off %'`,
      [fixture.workflowId],
    );
  });
  afterAll(() => fixture.close());

  const sweep = ({ batchSize = 100, budgetMs = 60_000 } = {}) =>
    sweepDispatch(fixture.harness.db, fixture.dispatch, new Round('test', { budgetMs }), batchSize);
  const status = async (id: string) => (await findJob(fixture.harness.db, fixture.organizationId, id)).waitingReason;
  const dueRetry = async () => {
    const agentId = await fixture.makeOnlineAgent();
    const jobId = await fixture.launch({ agentId });
    await fixture.query(
      `UPDATE job SET waiting_reason = 'retry_delay', not_before = now() - make_interval(secs => 1) WHERE id = $1`,
      [jobId],
    );
    return { agentId, jobId };
  };

  it('the dispatch sweep starts a due retry immediately, however many agents with smaller ids wait', async () => {
    const { agentId, jobId } = await dueRetry();
    // This round has time for only one statement.
    await sweep({ batchSize: 10, budgetMs: 0 });
    expect(await status(jobId)).toBeNull();
    await applyJobReport(
      fixture.harness.db,
      { organizationId: fixture.organizationId, agentId },
      { jobId, status: 'completed' },
    );
  });

  it('the dispatch sweep does not wait for an agent that a transaction has locked', async () => {
    const [locked, free] = [await dueRetry(), await dueRetry()];
    const checked: string[] = [];
    const spy = {
      startNextJob: async (id: string) => (checked.push(id), { action: 'wait' as const, reason: 'a test' }),
    };
    await runBesideLock(
      fixture.harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [locked.agentId]),
      () => sweepDispatch(fixture.harness.db, spy, new Round('test')),
    );
    expect(checked).toContain(free.agentId);
    expect(checked).not.toContain(locked.agentId);
    await fixture.query('DELETE FROM job WHERE id = ANY($1)', [[locked.jobId, free.jobId]]);
    await fixture.query('UPDATE agent SET dispatch_swept_at = NULL');
  });

  it('the dispatch sweep checks each stopped agent with a waiting job once a minute', async () => {
    expect((await sweep({ batchSize: 50, budgetMs: 60_000 })).looked).toBeGreaterThanOrEqual(waitingAgents);
    expect(await sweep()).toEqual({ looked: 0, started: 0, woken: 0, failed: 0 });
    await fixture.query(`UPDATE agent SET dispatch_swept_at = now() - interval '61 seconds' WHERE name LIKE 'Off 1%'`);
    const [{ count }] = await fixture.query(`SELECT count(*)::int FROM agent WHERE name LIKE 'Off 1%'`);
    expect((await sweep()).looked).toBe(count);
  });

  it('the dispatch sweep checks each agent that waits for a slot, even if one round checks only a few agents', async () => {
    await fixture.query('UPDATE organization_settings SET max_concurrent_runs = 1 WHERE organization_id = $1', [
      fixture.organizationId,
    ]);
    const { id: other } = await makeAgent(fixture.harness.db, {
      organizationId: fixture.organizationId,
      name: 'Busy',
      status: 'online',
    });
    await fixture.dispatched({ agentId: other });
    const agents = await Promise.all(Array.from({ length: 30 }, () => fixture.makeOnlineAgent()));
    for (const agentId of agents) await fixture.launch({ agentId });
    const checked = new Set<string>();
    const spy = { startNextJob: (id: string) => (checked.add(id), fixture.dispatch.startNextJob(id)) };
    for (let round = 0; round < 3; round += 1) {
      await sweepDispatch(fixture.harness.db, spy, new Round('test', { budgetMs: 0 }), 10);
    }
    expect([...checked].sort()).toEqual([...agents].sort());
  });

  it('the dispatch sweep continues with the next agent if one fails', async () => {
    const { agentId, jobId } = await dueRetry();
    await fixture.query('UPDATE organization_settings SET max_concurrent_runs = NULL');
    const checked: string[] = [];
    const failing = {
      startNextJob: (id: string) => {
        checked.push(id);
        return id === agentId ? fixture.dispatch.startNextJob(id) : Promise.reject(new Error('no'));
      },
    };
    const round = new Round('test');
    await sweepDispatch(fixture.harness.db, failing, round);
    expect(round.failed).toBe(checked.length - 1);
    expect(await status(jobId)).toBeNull();
  });

  /**
   * Inserts online agents whose jobs wait for a free slot of the organization. No slot becomes free, so each round
   * checks these agents.
   */
  const insertWaitingAgents = async (count: number) => {
    await fixture.query('UPDATE organization_settings SET max_concurrent_runs = 1');
    await fixture.query(`UPDATE job SET status = 'cancelled', finished_at = now() WHERE status = 'queued'`);
    await fixture.query(
      `INSERT INTO agent (id, organization_id, name, status, provider)
       SELECT gen_random_uuid(), $1, 'Held ' || n, 'online', 'local' FROM generate_series(1, $2) n`,
      [fixture.organizationId, count],
    );
    await fixture.query(
      `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, waiting_reason, waiting_since)
       SELECT gen_random_uuid(), organization_id, $1, 1, id, 'concurrency_limit', now()
       FROM agent WHERE name LIKE 'Held %'`,
      [fixture.workflowId],
    );
  };

  it('the dispatch sweep checks a stopped agent in its turn, however many online agents wait for a slot', async () => {
    await insertWaitingAgents(100);
    const { id: off } = await makeAgent(fixture.harness.db, {
      organizationId: fixture.organizationId,
      name: 'Wake failed',
      status: 'stopped',
    });
    const jobId = await fixture.launch({ agentId: off });
    await fixture.query(`UPDATE job SET waiting_reason = 'agent_offline' WHERE id = $1`, [jobId]);
    const checked: string[] = [];
    const spy = {
      startNextJob: async (id: string) => (checked.push(id), { action: 'wait' as const, reason: 'unchanged' }),
    };
    const cursors = new Map<string, unknown>();
    for (let round = 0; round < 3; round += 1) {
      await sweepDispatch(fixture.harness.db, spy, new Round('test', { budgetMs: 0, cursors }), 10);
    }
    expect(checked).toContain(off);
    // The following rounds check the agents that were not checked yet.
    for (let round = 0; round < 30; round += 1) {
      await sweepDispatch(fixture.harness.db, spy, new Round('test', { budgetMs: 0, cursors }), 10);
    }
    expect(new Set(checked).size).toBe(101);
  });

  it('the dispatch sweep checks a due retry before all online agents that wait', async () => {
    const agentId = await fixture.makeOnlineAgent();
    const jobId = await fixture.launch({ agentId });
    await fixture.query(
      `UPDATE job SET waiting_reason = 'retry_delay', not_before = now() - make_interval(secs => 1) WHERE id = $1`,
      [jobId],
    );
    await fixture.query(`UPDATE agent SET dispatch_swept_at = now() - interval '1 second' WHERE id = $1`, [agentId]);
    const checked: string[] = [];
    const spy = {
      startNextJob: async (id: string) => (checked.push(id), { action: 'wait' as const, reason: 'unchanged' }),
    };
    await sweepDispatch(fixture.harness.db, spy, new Round('test', { budgetMs: 0 }), 10);
    expect(checked).toEqual([agentId]);
  });

  it('the dispatch sweep checks agents whose last check is in the future after a clock was set back', async () => {
    await fixture.query(`UPDATE agent SET dispatch_swept_at = now() + interval '1 hour' WHERE name LIKE 'Held %'`);
    expect((await sweep()).looked).toBeGreaterThanOrEqual(100);
    const [{ count }] = await fixture.query(`SELECT count(*)::int FROM agent WHERE dispatch_swept_at > now()`);
    expect(count).toBe(0);
  });
});
