import { DatabaseModule } from '@muster/database';
import { lockWakesOfOrganization } from '@muster/jobs';
import { BaseConfig } from '@muster/platform';
import { type Harness, makeAgent, makeOrganization, makeWorkflow, runBehindLock, startHarness } from '@muster/testing';
import type { ScheduleRow } from '../schedule-row';
import { wakeForForcedRun } from './wake-for-forced-run';

describe('a requested run of a schedule with a target', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('two requested runs at the same time wake one machine each', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: scriptId } = await makeWorkflow(harness.db, { organizationId });
    for (const name of ['One', 'Two']) {
      await makeAgent(harness.db, { organizationId, name, status: 'stopped', provider: 'local', labels: ['desk'] });
    }
    const now = new Date();
    const wake = (id: string) =>
      harness.db.transaction({ organizationId }, (tx) =>
        wakeForForcedRun(
          tx,
          {
            ...{ id, organizationId, name: 'Nightly', scriptId, agentId: null, targetLabels: ['desk'] },
            ...{ variables: {}, concurrencyKeys: [], accounts: [] },
          } as unknown as ScheduleRow,
          { now, timeoutMs: 60_000 },
        ),
      );
    await runBehindLock(
      harness.db,
      (tx) => lockWakesOfOrganization(tx, organizationId),
      () => [wake(organizationId)],
    );
    const rows = await harness.db.query('system', `SELECT status FROM agent WHERE organization_id = $1`, [
      organizationId,
    ]);
    expect(rows.map(({ status }: any) => status).sort()).toEqual(['starting', 'stopped']);
  });
});
