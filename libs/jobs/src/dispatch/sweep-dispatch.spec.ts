import { Round } from '@muster/platform';
import { makeAgent } from '@muster/testing';
import { applyJobReport } from '../reports/apply-job-report';
import { findJob } from '../lists/job-row';
import { type JobsLab, openJobsLab } from '../testing/jobs.harness';
import { sweepDispatch } from './sweep-dispatch';

const waitingAgents = 600;

describe('the dispatch sweep', () => {
  let lab: JobsLab;

  beforeAll(async () => {
    lab = await openJobsLab();
    // Stopped agents with auto-wake off, each with a job that has waited for minutes. Their ids sort before all others.
    await lab.query('UPDATE organization_settings SET vm_auto_wake_on_job = false');
    await lab.query(
      `INSERT INTO agent (id, organization_id, name, status, provider)
       SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, 'Off ' || n, 'stopped', 'local'
       FROM generate_series(1, $2) n`,
      [lab.organizationId, waitingAgents],
    );
    await lab.query(
      `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, waiting_reason, waiting_since)
       SELECT gen_random_uuid(), organization_id, $1, 1, id, 'agent_offline', now() - interval '10 minutes'
       FROM agent WHERE name LIKE 'Off %'`,
      [lab.workflowId],
    );
  });
  afterAll(() => lab.close());

  const sweep = ({ atOnce = 100, budgetMs = 60_000 } = {}) =>
    sweepDispatch(lab.harness.db, lab.dispatch, new Round('test', { budgetMs }), atOnce);
  const status = async (id: string) => (await findJob(lab.harness.db, lab.organizationId, id)).waitingReason;
  const dueRetry = async () => {
    const agentId = await lab.makeOnlineAgent();
    const jobId = await lab.launch({ agentId });
    await lab.query(
      `UPDATE job SET waiting_reason = 'retry_delay', not_before = now() - make_interval(secs => 1) WHERE id = $1`,
      [jobId],
    );
    return { agentId, jobId };
  };

  it('starts a due retry immediately, however many agents with smaller ids wait', async () => {
    const { agentId, jobId } = await dueRetry();
    // This round has time for only one statement.
    await sweep({ atOnce: 10, budgetMs: 0 });
    expect(await status(jobId)).toBeNull();
    await applyJobReport(
      lab.harness.db,
      { organizationId: lab.organizationId, agentId },
      { jobId, status: 'completed' },
    );
  });

  it('checks every waiting agent, and then not again for a minute', async () => {
    expect((await sweep({ atOnce: 50, budgetMs: 60_000 })).looked).toBeGreaterThanOrEqual(waitingAgents);
    expect(await sweep()).toEqual({ looked: 0, started: 0, woken: 0, failed: 0 });
    await lab.query(`UPDATE agent SET dispatch_swept_at = now() - interval '61 seconds' WHERE name LIKE 'Off 1%'`);
    const [{ count }] = await lab.query(`SELECT count(*)::int FROM agent WHERE name LIKE 'Off 1%'`);
    expect((await sweep()).looked).toBe(count);
  });

  it('checks all free agents that wait for a slot in turns, if each round is too short for all of them', async () => {
    await lab.query('UPDATE organization_settings SET max_concurrent_runs = 1 WHERE organization_id = $1', [
      lab.organizationId,
    ]);
    const { id: other } = await makeAgent(lab.harness.db, {
      organizationId: lab.organizationId,
      name: 'Busy',
      status: 'online',
    });
    await lab.dispatched({ agentId: other });
    const agents = await Promise.all(Array.from({ length: 30 }, () => lab.makeOnlineAgent()));
    for (const agentId of agents) await lab.launch({ agentId });
    const looked = new Set<string>();
    const spy = { startNext: (id: string) => (looked.add(id), lab.dispatch.startNext(id)) };
    for (let round = 0; round < 3; round += 1) {
      await sweepDispatch(lab.harness.db, spy, new Round('test', { budgetMs: 0 }), 10);
    }
    expect([...looked].sort()).toEqual([...agents].sort());
  });

  it('continues with the next agent if one fails', async () => {
    const { agentId, jobId } = await dueRetry();
    await lab.query('UPDATE organization_settings SET max_concurrent_runs = NULL');
    const seen: string[] = [];
    const failing = {
      startNext: (id: string) => {
        seen.push(id);
        return id === agentId ? lab.dispatch.startNext(id) : Promise.reject(new Error('no'));
      },
    };
    const round = new Round('test');
    await sweepDispatch(lab.harness.db, failing, round);
    expect(round.failed).toBe(seen.length - 1);
    expect(await status(jobId)).toBeNull();
  });

  /** Inserts online agents that wait for a slot that never becomes free, so each round checks them. */
  const holdUp = async (count: number) => {
    await lab.query('UPDATE organization_settings SET max_concurrent_runs = 1');
    await lab.query(`UPDATE job SET status = 'cancelled', finished_at = now() WHERE status = 'queued'`);
    await lab.query(
      `INSERT INTO agent (id, organization_id, name, status, provider)
       SELECT gen_random_uuid(), $1, 'Held ' || n, 'online', 'local' FROM generate_series(1, $2) n`,
      [lab.organizationId, count],
    );
    await lab.query(
      `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, waiting_reason, waiting_since)
       SELECT gen_random_uuid(), organization_id, $1, 1, id, 'concurrency_limit', now()
       FROM agent WHERE name LIKE 'Held %'`,
      [lab.workflowId],
    );
  };

  it('checks a stopped agent in its turn, however many online agents wait for a slot', async () => {
    await holdUp(100);
    const { id: off } = await makeAgent(lab.harness.db, {
      organizationId: lab.organizationId,
      name: 'Wake failed',
      status: 'stopped',
    });
    const jobId = await lab.launch({ agentId: off });
    await lab.query(`UPDATE job SET waiting_reason = 'agent_offline' WHERE id = $1`, [jobId]);
    const looked: string[] = [];
    const spy = {
      startNext: async (id: string) => (looked.push(id), { action: 'wait' as const, reason: 'unchanged' }),
    };
    const cursors = new Map<string, unknown>();
    for (let round = 0; round < 3; round += 1) {
      await sweepDispatch(lab.harness.db, spy, new Round('test', { budgetMs: 0, cursors }), 10);
    }
    expect(looked).toContain(off);
    // The agents that were not checked yet are checked in the following rounds.
    for (let round = 0; round < 30; round += 1) {
      await sweepDispatch(lab.harness.db, spy, new Round('test', { budgetMs: 0, cursors }), 10);
    }
    expect(new Set(looked).size).toBe(101);
  });

  it('checks a due retry before online agents that wait, however many there are', async () => {
    const agentId = await lab.makeOnlineAgent();
    const jobId = await lab.launch({ agentId });
    await lab.query(
      `UPDATE job SET waiting_reason = 'retry_delay', not_before = now() - make_interval(secs => 1) WHERE id = $1`,
      [jobId],
    );
    await lab.query(`UPDATE agent SET dispatch_swept_at = now() - interval '1 second' WHERE id = $1`, [agentId]);
    const looked: string[] = [];
    const spy = {
      startNext: async (id: string) => (looked.push(id), { action: 'wait' as const, reason: 'unchanged' }),
    };
    await sweepDispatch(lab.harness.db, spy, new Round('test', { budgetMs: 0 }), 10);
    expect(looked).toEqual([agentId]);
  });

  it('checks agents again whose last check is in the future because the clock was set back', async () => {
    await lab.query(`UPDATE agent SET dispatch_swept_at = now() + interval '1 hour' WHERE name LIKE 'Held %'`);
    expect((await sweep()).looked).toBeGreaterThanOrEqual(100);
    const [{ count }] = await lab.query(`SELECT count(*)::int FROM agent WHERE dispatch_swept_at > now()`);
    expect(count).toBe(0);
  });
});
