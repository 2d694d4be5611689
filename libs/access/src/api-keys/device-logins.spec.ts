import type { UserPrincipal } from '../principal';
import { DatabaseModule } from '@muster/database';
import { BaseConfig, type Clock } from '@muster/platform';
import { runBehindLock, type Harness, makeOrganization, makeUser, startHarness } from '@muster/testing';
import { answerDeviceLogin, startDeviceLogin, fetchDeviceKey } from './device-logins';

describe('fetchDeviceKey', () => {
  let harness: Harness;
  let organizationId: string;
  let userId: string;
  let deviceCode: string;
  const clock: Clock = { now: () => new Date() };

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    ({ id: organizationId } = await makeOrganization(harness.db));
    const { id, email, role } = await makeUser(harness.db, { organizationId });
    userId = id;
    const now = clock.now();
    const request = { deviceName: 'laptop', address: '203.0.113.7', now, lifetimeMs: 600_000 };
    const codes = await startDeviceLogin(harness.db, request);
    ({ deviceCode } = codes);
    const caller = {
      kind: 'user',
      id,
      email,
      role,
      organizationId,
      homeOrganizationId: organizationId,
    } as UserPrincipal;
    await harness.db.transaction('system', (tx) =>
      answerDeviceLogin(tx, caller, { userCode: codes.userCode, allow: true, now }),
    );
  });

  const fetchKeyOrError = () =>
    fetchDeviceKey(harness.db, deviceCode, clock).then(
      () => 'key',
      ({ code }: { code: string }) => code,
    );
  const readKeys = () => harness.db.query('system', 'SELECT FROM api_key WHERE user_id = $1', [userId]);

  it('two concurrent polls of a program whose device sign-in was allowed create one API key', async () => {
    const outcomes = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM device_login WHERE user_id = $1 FOR UPDATE', [userId]),
      () => [fetchKeyOrError(), fetchKeyOrError()],
    );
    expect(outcomes.sort()).toEqual(['expired_token', 'key']);
    expect(await readKeys()).toHaveLength(1);
  });

  it('a program whose device sign-in was allowed gets no key if its user is disabled while the poll waits', async () => {
    const outcomes = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM app_user WHERE id = $1 FOR UPDATE', [userId]),
      () => [fetchKeyOrError()],
      (tx) => tx.execute('UPDATE app_user SET disabled = true WHERE id = $1', [userId]),
    );
    expect(outcomes).toEqual(['access_denied']);
    expect(await readKeys()).toEqual([]);
  });
});
