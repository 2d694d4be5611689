import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { runBehindLock, FakeClock, type Harness, makeOrganization, startHarness, testMasterKey } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { generateVaultTotp } from './generate-vault-totp';
import { putSecret } from './secrets';
import { parseTotpSecret, computeTotpCode } from './totp';

const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

describe('codes of a TOTP secret', () => {
  let harness: Harness;
  const clock = new FakeClock('2026-03-02T09:00:05.000Z');
  const keyRing = KeyRing.parseKeyRing(testMasterKey);

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule], clock });
  });
  afterAll(() => harness.close());

  it('runs that request a TOTP code in the same window get different codes, but a run keeps its code', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const caller = { kind: 'system', id: 'test', organizationId } as never;
    await harness.db.transaction({ organizationId }, (tx) =>
      putSecret(tx, keyRing, caller, 'PORTAL', { value: secret, kind: 'totp' }),
    );
    const give = (jobId: string) =>
      harness.db.transaction({ organizationId }, (tx) =>
        generateVaultTotp(tx, keyRing, caller, { key: 'PORTAL', holder: { jobId } }),
      );
    const jobs = [newId(), newId(), newId()];
    const codes = [];
    for (const jobId of jobs) codes.push(await give(jobId));
    const first = Date.parse('2026-03-02T09:00:00.000Z');
    expect(codes).toEqual(
      [0, 1, 2].map((window) => ({
        code: computeTotpCode(parseTotpSecret(secret), first / 30_000 + window),
        validFrom: new Date(first + window * 30_000),
        validUntil: new Date(first + (window + 1) * 30_000),
      })),
    );
    expect(new Set(codes.map(({ code }) => code)).size).toBe(3);
    expect(await give(jobs[2]!)).toEqual(codes[2]);
  });

  it('two runs that wait for the same TOTP secret receive the codes of different windows', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const caller = { kind: 'system', id: 'test', organizationId } as never;
    await harness.db.transaction({ organizationId }, (tx) =>
      putSecret(tx, keyRing, caller, 'PORTAL', { value: secret, kind: 'totp' }),
    );
    const give = (jobId: string) =>
      harness.db.transaction({ organizationId }, (tx) =>
        generateVaultTotp(tx, keyRing, caller, { key: 'PORTAL', holder: { jobId } }),
      );
    const codes = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM vault_secret WHERE organization_id = $1 FOR UPDATE', [organizationId]),
      () => [give(newId()), give(newId())],
    );
    expect(new Set(codes.map(({ validFrom }) => validFrom.toISOString()))).toEqual(
      new Set(['2026-03-02T09:00:00.000Z', '2026-03-02T09:00:30.000Z']),
    );
  });
});
