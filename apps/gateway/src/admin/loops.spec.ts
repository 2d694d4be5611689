import { LoopLedger } from '@muster/platform';
import { type Harness, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('maintenance loops', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  it('a super_admin sees the latest round of each maintenance loop, whichever replica ran it', async () => {
    const ledger = harness.app.nest.get(LoopLedger, { strict: false });
    const at = new Date('2026-01-05T10:00:00Z');
    const stuck = [{ row: 'agent a', error: 'broke', since: at, times: 4 }];
    const run = { name: 'stop idle agents', app: 'dispatcher' as const, host: 'one', intervalMs: 5000, beganAt: at };
    const now = { soon: true };
    await ledger.recordRun({ ...run, durationMs: 12.5, counts: { looked: 3 }, failed: 1, error: null, stuck }, now);
    // Another replica records an older round after the newer one. The newer round remains stored.
    const before = { ...run, host: 'two', beganAt: new Date(at.getTime() - 1) };
    await ledger.recordRun({ ...before, durationMs: 1, counts: {}, failed: 0, error: 'x', stuck: [] }, now);
    const answer = await tenant.as.super_admin.get('/api/admin/loops');
    expect(answer.body).toEqual({
      loops: [
        {
          name: 'stop idle agents',
          app: 'dispatcher',
          host: 'one',
          intervalMs: 5000,
          lastRunAt: '2026-01-05T10:00:00.000Z',
          durationMs: 12.5,
          counts: { looked: 3 },
          failed: 1,
          error: null,
          stuck: [{ row: 'agent a', error: 'broke', since: '2026-01-05T10:00:00.000Z', times: 4 }],
        },
      ],
      nextCursor: null,
    });
    expect((await tenant.as.admin.get('/api/admin/loops')).status).toBe(403);
  });
});
