import type { Principal } from '@muster/access';
import { DatabaseModule, acquireAdvisoryLock } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { runBehindLock, type Harness, makeOrganization, startHarness, testMasterKey } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { createChannel, updateChannel } from './save-channel';

describe('notification channels', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('a conditional change of a notification channel is rejected if another is committed while it waits for the row', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const id = newId();
    await harness.db.query(
      'system',
      `INSERT INTO webhook_endpoint (id, organization_id, name, kind, recipients, events)
       VALUES ($1, $2, 'Front desk', 'email', '{desk@practice.example}', '{*}')`,
      [id, organizationId],
    );
    const caller = { kind: 'api_key', id: 'testkey01', organizationId } as Principal;
    const rename = () =>
      harness.db.transaction({ organizationId }, (tx) =>
        updateChannel(tx, KeyRing.parseKeyRing(testMasterKey), caller, {
          id,
          change: { name: 'Back office' },
          ifMatch: '"1"',
        }),
      );
    const changed = runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM webhook_endpoint WHERE id = $1 FOR UPDATE', [id]),
      () => [rename()],
      (tx) => tx.execute("UPDATE webhook_endpoint SET name = 'Reception', version = 2 WHERE id = $1", [id]),
    );
    await expect(changed).rejects.toMatchObject({ code: 'precondition_failed' });
    expect(await harness.db.query('system', 'SELECT name FROM webhook_endpoint WHERE id = $1', [id])).toEqual([
      { name: 'Reception' },
    ]);
  });

  it('an organization has at most 20 notification channels, even if two concurrent requests create the last one', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    await harness.db.query(
      'system',
      `INSERT INTO webhook_endpoint (id, organization_id, name, kind, recipients, events)
       SELECT gen_random_uuid(), $1, 'Channel ' || n, 'email', '{desk@practice.example}', '{*}'
       FROM generate_series(1, 19) n`,
      [organizationId],
    );
    const caller = { kind: 'api_key', id: 'testkey01', organizationId } as Principal;
    const channel = { kind: 'email' as const, target: { to: ['desk@practice.example'] }, events: ['*'] };
    const create = (name: string) =>
      harness.db
        .transaction({ organizationId }, (tx) =>
          createChannel(tx, KeyRing.parseKeyRing(testMasterKey), caller, { name, ...channel }),
        )
        .then(
          () => 'created',
          ({ code }: { code: string }) => code,
        );
    const created = await runBehindLock(
      harness.db,
      (tx) => acquireAdvisoryLock(tx, 'webhook endpoints', organizationId),
      () => [create('Front desk'), create('Back office')],
    );
    expect(created.sort()).toEqual(['conflict', 'created']);
  });
});
