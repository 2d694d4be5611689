import type { Principal } from '@muster/access';
import { DatabaseModule, acquireAdvisoryLock } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { runBehindLock, type Harness, makeOrganization, startHarness, testMasterKey } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { createEndpoint, updateEndpoint } from './save-endpoint';

describe('webhook endpoints', () => {
  let harness: Harness;
  let organizationId: string;
  let caller: Principal;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    ({ id: organizationId } = await makeOrganization(harness.db));
    caller = { kind: 'api_key', id: 'testkey01', organizationId } as Principal;
  });

  it('a conditional change of a webhook endpoint is rejected if another is committed while it waits for the row', async () => {
    const id = newId();
    await harness.db.query(
      'system',
      "INSERT INTO webhook_endpoint (id, organization_id, url, events) VALUES ($1, $2, 'https://a.invalid/', '{*}')",
      [id, organizationId],
    );
    const change = { url: 'https://b.invalid/' };
    const changed = runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM webhook_endpoint WHERE id = $1 FOR UPDATE', [id]),
      () => [
        harness.db.transaction({ organizationId }, (tx) => updateEndpoint(tx, caller, id, { change, ifMatch: '"1"' })),
      ],
      (tx) => tx.execute("UPDATE webhook_endpoint SET url = 'https://c.invalid/', version = 2 WHERE id = $1", [id]),
    );
    await expect(changed).rejects.toMatchObject({ code: 'precondition_failed' });
    expect(await harness.db.query('system', 'SELECT url FROM webhook_endpoint WHERE id = $1', [id])).toEqual([
      { url: 'https://c.invalid/' },
    ]);
  });

  it('an organization has at most 20 webhook endpoints, even if two concurrent requests create the last one', async () => {
    await harness.db.query(
      'system',
      `INSERT INTO webhook_endpoint (id, organization_id, url, events)
       SELECT gen_random_uuid(), $1, 'https://a.invalid/', '{*}' FROM generate_series(1, 19)`,
      [organizationId],
    );
    const create = () =>
      harness.db.transaction({ organizationId }, (tx) =>
        createEndpoint(tx, KeyRing.parseKeyRing(testMasterKey), caller, { url: 'https://b.invalid/', events: ['*'] }),
      );
    const created = await runBehindLock(
      harness.db,
      (tx) => acquireAdvisoryLock(tx, 'webhook endpoints', organizationId),
      () => [create(), create()].map((each) => each.then(() => 'created').catch(({ code }: { code: string }) => code)),
    );
    expect(created.sort()).toEqual(['conflict', 'created']);
  });
});
