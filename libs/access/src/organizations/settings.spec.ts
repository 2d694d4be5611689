import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { runBehindLock, type Harness, makeOrganization, startHarness } from '@muster/testing';
import type { Principal } from '../principal';
import { updateSettings } from './settings';

describe('updateSettings', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('a change of the settings keeps a change of another setting that is committed while it waits', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const caller = { kind: 'api_key', id: 'testkey01', organizationId } as Principal;
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM organization_settings WHERE organization_id = $1 FOR UPDATE', [organizationId]),
      () => [
        harness.db.transaction({ organizationId }, (tx) =>
          updateSettings(tx, caller, { failStalledRuns: true }, undefined),
        ),
      ],
      (tx) =>
        tx.execute('UPDATE organization_settings SET monthly_run_limit = 7 WHERE organization_id = $1', [
          organizationId,
        ]),
    );
    const settings = await harness.db.query(
      'system',
      'SELECT fail_stalled_runs, monthly_run_limit FROM organization_settings WHERE organization_id = $1',
      [organizationId],
    );
    expect(settings).toEqual([{ failStalledRuns: true, monthlyRunLimit: 7 }]);
  });
});
