import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { runBehindLock, type Harness, makeOrganization, makeUser, startHarness } from '@muster/testing';
import type { Principal } from '../principal';
import { updateUser } from './users';

describe('updateUser', () => {
  let harness: Harness;
  let organizationId: string;
  let caller: Principal;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    ({ id: organizationId } = await makeOrganization(harness.db));
    const { id, email } = await makeUser(harness.db, { organizationId, role: 'admin' });
    caller = { kind: 'user', id, email, role: 'admin', organizationId } as Principal;
  });

  const disable = (id: string) =>
    harness.db.transaction({ organizationId }, (tx) => updateUser(tx, caller, id, { disabled: true }));
  const lockUser = (id: string) => (tx: { query(sql: string, values: unknown[]): Promise<unknown> }) =>
    tx.query('SELECT FROM app_user WHERE id = $1 FOR UPDATE', [id]);

  it('the last active admin of an organization cannot be disabled, even if the other admin is disabled while the request waits', async () => {
    const other = await makeUser(harness.db, { organizationId, role: 'admin' });
    const disabled = runBehindLock(
      harness.db,
      lockUser(other.id),
      () => [disable(caller.id)],
      (tx) => tx.execute('UPDATE app_user SET disabled = true WHERE id = $1', [other.id]),
    );
    await expect(disabled).rejects.toMatchObject({ code: 'conflict' });
    expect(await harness.db.query('system', 'SELECT disabled FROM app_user WHERE id = $1', [caller.id])).toEqual([
      { disabled: false },
    ]);
  });

  it('an admin cannot disable a user who becomes super_admin while the request waits', async () => {
    const { id } = await makeUser(harness.db, { organizationId });
    const disabled = runBehindLock(
      harness.db,
      lockUser(id),
      () => [disable(id)],
      (tx) => tx.execute("UPDATE app_user SET role = 'super_admin' WHERE id = $1", [id]),
    );
    await expect(disabled).rejects.toMatchObject({ code: 'permission_denied' });
  });
});
