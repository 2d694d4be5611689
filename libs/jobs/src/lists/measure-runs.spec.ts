import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { type Harness, makeJob, makeOrganization, startHarness } from '@muster/testing';
import { measureRuns } from './measure-runs';

describe('measureRuns', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('the runs of all organizations are counted by their status and by what they wait for', async () => {
    const make = async (job: object) => {
      const { id: organizationId } = await makeOrganization(harness.db);
      await makeJob(harness.db, { organizationId, ...job });
    };
    for (let n = 0; n < 3; n += 1) await make({ status: 'running', startedAt: new Date(), reservedMicros: 5 });
    await make({ status: 'queued', waitingReason: 'agent_busy', reservedMicros: 7 });
    await make({ status: 'queued', waitingReason: null });
    await make({ status: 'completed', startedAt: new Date(), finishedAt: new Date() });
    const { running, waiting, reservedMicros, heldMachines, unapplied } = await measureRuns(harness.db);
    expect({ running, reservedMicros: Number(reservedMicros), heldMachines, unapplied }).toEqual({
      running: 3,
      reservedMicros: 22,
      heldMachines: 0,
      unapplied: 0,
    });
    const counts = Object.entries(waiting).flatMap(([reason, { count }]) => (count ? [[reason, count]] : []));
    expect(Object.fromEntries(counts)).toEqual({ agent_busy: 1, nothing: 1 });
  });
});
