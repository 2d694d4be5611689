import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { type Harness, makeJob, makeOrganization, startHarness } from '@muster/testing';
import { readRunMetrics } from './measure-runs';

describe('measureRuns', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('measureRuns counts the runs of all organizations by status, and the waiting ones by what they wait for', async () => {
    const makeOrganizationWithJob = async (job: object) => {
      const { id: organizationId } = await makeOrganization(harness.db);
      await makeJob(harness.db, { organizationId, ...job });
    };
    for (let n = 0; n < 3; n += 1)
      await makeOrganizationWithJob({ status: 'running', startedAt: new Date(), reservedMicros: 5 });
    await makeOrganizationWithJob({ status: 'queued', waitingReason: 'agent_busy', reservedMicros: 7 });
    await makeOrganizationWithJob({ status: 'queued', waitingReason: null });
    await makeOrganizationWithJob({ status: 'completed', startedAt: new Date(), finishedAt: new Date() });
    const { running, waiting, reservedMicros, heldMachines, unapplied, unplaced } = await readRunMetrics(harness.db);
    expect(unplaced).toEqual({ count: 0, ageSeconds: 0 });
    expect({ running, reservedMicros: Number(reservedMicros), heldMachines, unapplied }).toEqual({
      running: 3,
      reservedMicros: 22,
      heldMachines: 0,
      unapplied: 0,
    });
    const counts = Object.entries(waiting).flatMap(([reason, { count }]) => (count ? [[reason, count]] : []));
    expect(Object.fromEntries(counts)).toEqual({ agent_busy: 1, nothing: 1 });
  });

  it('measureRuns counts the queued runs without an agent, whatever they wait for', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const makeWaitingJob = async (status: string, waitingReason: string | null, seconds: number) => {
      const { id } = await makeJob(harness.db, { organizationId, status: 'queued' });
      await harness.db.query(
        'system',
        `UPDATE job SET status = $2, waiting_reason = $3, agent_id = NULL, target_labels = '{front-desk}',
           target_prefer = 'running', queued_at = muster_now() - make_interval(secs => $4),
           not_before = muster_now() - make_interval(secs => $4),
           finished_at = CASE WHEN $2 = 'cancelled' THEN muster_now() END
         WHERE id = $1`,
        [id, status, waitingReason, seconds],
      );
    };
    await makeWaitingJob('queued', 'no_agent_free', 40);
    await makeWaitingJob('queued', 'concurrency_key', 90);
    await makeWaitingJob('queued', null, 20);
    await makeWaitingJob('cancelled', null, 900);
    const { unplaced } = await readRunMetrics(harness.db);
    expect(unplaced.count).toBe(3);
    expect(Math.floor(unplaced.ageSeconds / 10)).toBe(9);
  });
});
