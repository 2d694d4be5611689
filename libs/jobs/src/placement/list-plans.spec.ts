import { createOwnerDataSource } from '@muster/database';
import { Round } from '@muster/platform';
import { type ReadPlan, readPlans } from '@muster/testing';
import { placeJob } from './place-job';
import { PlacementFixture } from './placement.harness';
import { sweepPlacements } from './sweep-placements';
import { digestLabels } from './target';

const agents = 100;
const labels = ['any'];

/** Each size has ten times the waiting jobs of the one before. What one start reads must not depend on them. */
describe('the rows that placement reads in a long queue', () => {
  let fixture: PlacementFixture;

  beforeAll(async () => {
    fixture = await PlacementFixture.openFixture();
    await fixture.deleteJobsAndAgents();
    await makeBusyAgents(1, agents);
  });
  afterAll(() => fixture.closeFixture());

  const makeBusyAgents = (from: number, to: number) =>
    fixture.jobs.query(
      `INSERT INTO agent (id, organization_id, name, status, labels, current_job_id, dispatched_at)
       SELECT gen_random_uuid(), $1, 'Agent ' || n, 'online', $4, gen_random_uuid(), muster_now()
       FROM generate_series($2::int, $3::int) n`,
      [fixture.jobs.organizationId, from, to, labels],
    );
  const queueJobs = async (count: number) => {
    const { organizationId, workflowId } = fixture.jobs;
    await fixture.jobs.query(
      `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, status, queued_at, target_labels, target_prefer, target_group)
       SELECT gen_random_uuid(), $1, $2, 1, 'queued', muster_now() + n * interval '1 millisecond' - interval '1 day', $4, 'running', $5
       FROM generate_series(1, $3::int) n`,
      [organizationId, workflowId, count, labels, digestLabels(labels)],
    );
    const owner = await createOwnerDataSource(fixture.jobs.harness.databaseUrl).initialize();
    await owner.query('ANALYZE job, agent');
    await owner.destroy();
  };
  const readScans = async (work: () => Promise<unknown>) => {
    const plans = await readPlans(fixture.jobs.harness.databaseUrl, work);
    const sumOverPlans = (pick: (plan: ReadPlan) => number) => plans.reduce((total, plan) => total + pick(plan), 0);
    return { looked: sumOverPlans(({ looked }) => looked), scans: plans.flatMap(({ scans }) => scans) };
  };
  const readFirstQueuedJob = async () => {
    const [{ id }] = (await fixture.jobs.query(
      'SELECT id FROM job WHERE agent_id IS NULL ORDER BY queued_at, id LIMIT 1',
    )) as [{ id: string }];
    return id;
  };
  const readBusyAgent = async () => {
    const [{ id }] = (await fixture.jobs.query(
      'SELECT id FROM agent WHERE labels = $1 AND current_job_id IS NOT NULL ORDER BY id LIMIT 1',
      [labels],
    )) as [{ id: string }];
    return id;
  };
  const freeAgent = (agentId: string) =>
    fixture.jobs.query('UPDATE agent SET current_job_id = NULL, dispatched_at = NULL WHERE id = $1', [agentId]);

  /** The statements are explained after the start, and must then find what the start has found. */
  const undoStart = async (agentId: string) => {
    await freeAgent(agentId);
    await fixture.jobs.query(
      'UPDATE job SET agent_id = NULL, command_id = NULL WHERE agent_id = $1 AND command_id IS NOT NULL',
      [agentId],
    );
  };

  const measurePlacements = async () => {
    const [jobId, agentId] = [await readFirstQueuedJob(), await readBusyAgent()];
    const waits = await readScans(() => placeJob(fixture.parts, jobId));
    const sweep = await readScans(() => sweepPlacements(fixture.parts, new Round('test')));
    await freeAgent(agentId);
    const starts = await readScans(async () => {
      await fixture.jobs.dispatch.startNextJob(agentId);
      await undoStart(agentId);
    });
    const idle = await readScans(async () => {
      expect(await placeJob(fixture.parts, jobId)).toBe('started');
      await undoStart(agentId);
    });
    await fixture.jobs.query('UPDATE agent SET current_job_id = gen_random_uuid() WHERE id = $1', [agentId]);
    return { waits, sweep, starts, idle };
  };

  it('starting and placing a job read no more rows if ten times as many jobs wait, and find the job by an index', async () => {
    await queueJobs(300);
    await measurePlacements();
    const few = await measurePlacements();
    await queueJobs(2700);
    const many = await measurePlacements();
    for (const work of ['waits', 'starts', 'idle'] as const) {
      expect([work, many[work].looked <= few[work].looked + 10]).toEqual([work, true]);
      expect(many[work].looked).toBeLessThan(5 * agents);
    }
    for (const work of ['starts', 'sweep'] as const) {
      expect(many[work].scans.some((scan) => scan.includes('job_unplaced_idx'))).toBe(true);
      expect(many[work].scans.filter((scan) => scan === 'Seq Scan job')).toEqual([]);
    }
    // A sweep may read each waiting job once, to set its waiting reason, but not once for each agent.
    expect(many.sweep.looked).toBeLessThan(2 * 3000 + 5 * agents);
    await makeBusyAgents(agents + 1, 10 * agents);
    const wide = await measurePlacements();
    for (const work of ['waits', 'starts', 'idle', 'sweep'] as const) {
      expect([work, wide[work].looked <= many[work].looked + 5 * 9 * agents]).toEqual([work, true]);
    }
  });
});
