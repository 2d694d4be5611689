import { type Harness, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('settings and vault at the gateway', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant('Northside Dental');
  });
  afterAll(() => harness.close());

  const readLastAuditEntry = async () => (await tenant.as.admin.get('/api/audit?limit=1')).body.entries[0];

  describe('settings', () => {
    it('organization settings have defaults, change field by field, and refuse invalid values', async () => {
      const { as } = await harness.makeTenant();
      const before = await as.viewer.get('/api/organization/settings');
      expect(before.body).toEqual({
        vmAutoWakeOnJob: true,
        autoStopEnabled: true,
        idleStopMinutes: 30,
        idleStopPolicy: 'fixed',
        prewake: true,
        maxConcurrentRuns: null,
        monthlyRunLimit: null,
        monthlySpendLimitUsd: null,
        laborRateUsdPerHour: 28,
        minutesSavedPerClaim: 12,
        hourlyComputeUsd: 0.12,
        timezone: 'UTC',
        failStalledRuns: false,
        logRetentionDays: 90,
        timelineRetentionDays: 90,
        stepRetentionDays: null,
        claimRetentionDays: null,
        usageRetentionDays: null,
        costRetentionDays: null,
        sessionIdleMinutes: 60,
        apiKeyMaxDays: null,
        requireSecondFactor: false,
      });
      const changed = await as.admin.patch('/api/organization/settings', {
        idleStopMinutes: 0.05,
        maxConcurrentRuns: 3,
      });
      expect(changed.body).toEqual({ ...before.body, idleStopMinutes: 0.05, maxConcurrentRuns: 3 });
      expect(
        (await as.admin.patch('/api/organization/settings', { maxConcurrentRuns: null })).body.maxConcurrentRuns,
      ).toBeNull();
      for (const bad of [
        { idleStopMinutes: 0.04 },
        { sessionIdleMinutes: 4 },
        { sessionIdleMinutes: 1441 },
        { timezone: 'Mars/Olympus' },
        { vmAutoWakeOnJob: null },
        { vmAutoWakeOnJob: 'true' },
        { timezone: '+05:30' },
        { timezone: 'CET' },
        { timezone: 'ist' },
        { timezone: 'PST' },
        { timezone: 'US/Pacific-New' },
        { monthlyRunLimit: 1.5 },
        { idleStopPolicy: 'sometimes' },
        { idleStopPolicy: 'Adaptive' },
        { idleStopPolicy: null },
        { idleStopPolicy: ['adaptive'] },
        { prewake: 'yes' },
        { prewake: null },
      ]) {
        const answer = await as.admin.patch('/api/organization/settings', bad);
        expect([bad, answer.status, answer.body.errors[0].field]).toEqual([bad, 400, Object.keys(bad)[0]]);
      }
      expect((await as.admin.get('/api/organization/settings')).body).toEqual({
        ...changed.body,
        maxConcurrentRuns: null,
      });
    });

    it('organization settings change only at the revision that If-Match names', async () => {
      const { as } = await harness.makeTenant();
      const first = (await as.admin.get('/api/organization/settings')).headers.get('etag')!;
      const changeIdleStop = (ifMatch: string, minutes: number) =>
        as.admin.with({ 'if-match': ifMatch }).patch('/api/organization/settings', { idleStopMinutes: minutes });
      const second = await changeIdleStop(first, 10);
      expect([second.status, second.headers.get('etag')]).toEqual([200, expect.not.stringMatching(`^${first}$`)]);
      const late = await changeIdleStop(first, 20);
      expect([late.status, late.body.code, late.headers.get('etag')]).toEqual([
        412,
        'precondition_failed',
        second.headers.get('etag'),
      ]);
      expect((await changeIdleStop('*', 30)).status).toBe(200);
      const racing = (await as.admin.get('/api/organization/settings')).headers.get('etag')!;
      const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => changeIdleStop(racing, 40 + i)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 412)).toHaveLength(7);
    });
  });

  describe('the vault', () => {
    it('the vault shows names and dates of secrets, and stores their values sealed', async () => {
      const put = await tenant.as.admin.put('/api/vault/PORTAL_PASSWORD', { value: 'hunter2-very-secret' });
      expect(put.body).toEqual({
        key: 'PORTAL_PASSWORD',
        kind: 'secret',
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      });
      const list = await tenant.as.admin.get('/api/vault');
      expect(list.body.secrets).toContainEqual(put.body);
      const [row] = await harness.db.query<{ sealed: Buffer; wrappedKey: Buffer }>(
        'system',
        'SELECT * FROM vault_secret',
      );
      expect(row!.sealed.toString('latin1')).not.toContain('hunter2');
      expect(JSON.stringify(await readLastAuditEntry())).not.toContain('hunter2');
      expect(harness.logs.join('')).not.toContain('hunter2');
      expect((await tenant.as.admin.delete('/api/vault/PORTAL_PASSWORD')).status).toBe(204);
      expect((await tenant.as.admin.delete('/api/vault/PORTAL_PASSWORD')).status).toBe(404);
    });

    it('the vault refuses names that a script’s environment cannot have', async () => {
      for (const key of [
        'PATH',
        'HOME',
        'PYTHONPATH',
        'LD_PRELOAD',
        'NODE_OPTIONS',
        'SERVICE_X',
        'AGENT_ID',
        'ORGANIZATION_ID',
        'MUSTER_X',
        '1X',
        'a-b',
        'a%20b',
      ]) {
        expect([key, (await tenant.as.admin.put(`/api/vault/${key}`, { value: 'x' })).status]).toEqual([key, 400]);
      }
    });
  });
});
