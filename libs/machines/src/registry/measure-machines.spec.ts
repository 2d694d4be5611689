import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeAgent, makeJob, makeOrganization, startHarness } from '@muster/testing';
import { readMachineMetrics } from './measure-machines';

describe('measureMachines', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('machines that are on without work are counted by reason, without those that the service cannot stop', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: withoutIdleStop } = await makeOrganization(harness.db);
    await harness.db.query(
      'system',
      'UPDATE organization_settings SET auto_stop_enabled = (organization_id = $1), idle_stop_minutes = 10',
      [organizationId],
    );
    const long = {
      status: 'online',
      provider: 'ec2',
      lastActivityAt: new Date(harness.db.now().getTime() - 21 * 60_000),
    };
    const makeMachine = async (more: object = {}) =>
      (await makeAgent(harness.db, { organizationId, name: newId(), ...long, ...more } as never)).id;
    await makeMachine();
    await makeMachine({ idleAutoStopExempt: true });
    await makeMachine({ organizationId: withoutIdleStop });
    await makeMachine({ provider: 'external' });
    await makeMachine({ status: 'stopped' });
    await makeMachine({ lastActivityAt: new Date(harness.db.now().getTime() - 19 * 60_000) });
    await makeJob(harness.db, { organizationId, agentId: await makeMachine(), status: 'queued' });
    expect(await readMachineMetrics(harness.db)).toMatchObject({
      byStatus: { online: 6, stopped: 1, offline: 0 },
      withoutWork: { overdue: 1, pinned: 1, idle_stop_off: 1 },
    });
  });
});
