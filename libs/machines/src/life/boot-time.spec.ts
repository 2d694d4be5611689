import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { recordBootTime } from './boot-time';

describe('recordBootTime', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('the boot time of a machine is measured by its successful wakes, except those that found it switched on', async () => {
    const { db } = harness;
    const { id: organizationId } = await makeOrganization(db);
    const { id } = await makeAgent(db, { organizationId });
    const addWake = (wake: { attempt: number; state: string; seconds: number }) =>
      db.query(
        'system',
        `INSERT INTO agent_wake (id, organization_id, agent_id, source, reason, attempt, state, requested_at, finished_at, deadline)
         SELECT $1::uuid, $2, $3, 'api', 'test', $4, $5, now() - $6 * interval '1 second', now(), now()`,
        [newId(), organizationId, id, wake.attempt, wake.state, wake.seconds],
      );
    await addWake({ attempt: 1, state: 'ready', seconds: 100 });
    await addWake({ attempt: 1, state: 'timeout', seconds: 900 });
    for (let count = 0; count < 9; count += 1) await addWake({ attempt: 0, state: 'ready', seconds: 0 });
    await db.transaction('system', (tx) => Promise.resolve(recordBootTime(tx, id)));
    const [agent] = await db.query<{ bootMs: number }>('system', 'SELECT boot_ms FROM agent WHERE id = $1', [id]);
    expect(Math.round(agent!.bootMs / 1000)).toBe(100);
  });
});
