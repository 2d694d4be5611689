import { DatabaseModule, acquireAdvisoryLock } from '@muster/database';
import { BaseConfig, newId, Round } from '@muster/platform';
import { runBehindLock, runBesideLock, type Harness, makeOrganization, startHarness } from '@muster/testing';
import { findPilotBatch } from '../batches/find-batch';
import { purgeBatchClaims } from '../batches/purge-claims';
import { refreshRoiRollups } from '../roi/refresh-roi-rollups';
import { rebuildRoiRollups } from '../roi/verify-rollups';
import { findSession } from './read-sessions';
import { summarizeSession } from './summarize-session';

describe('a batch that is reported again', () => {
  let harness: Harness;
  let organizationId: string;
  let batchId: string;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    ({ id: organizationId } = await makeOrganization(harness.db));
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    batchId = newId();
    await harness.db.query(
      'system',
      `INSERT INTO pilot_batch (id, organization_id, batch_id, worker_key, occurred_at)
       VALUES ($1, $2, $3, 'w', now())`,
      [batchId, organizationId, batchId],
    );
  });

  const summarize = () => harness.db.transaction('system', (tx) => summarizeSession(tx, batchId));
  const whileHeld = <T>(work: () => Promise<T>, ...changes: string[]) =>
    runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM pilot_batch WHERE id = $1 FOR UPDATE', [batchId]),
      () => [work()],
      async (tx) => {
        for (const change of changes) await tx.execute(change, [batchId]);
      },
    );

  it('a summary is not written for a pilot batch that is deleted while the summary waits for the batch', async () => {
    expect(await whileHeld(summarize, 'DELETE FROM pilot_batch WHERE id = $1')).toEqual([false]);
  });

  it('a reader who waits for a locked pilot batch receives as many claims as the batch states', async () => {
    const [found] = await whileHeld(
      () => findPilotBatch(harness.db, organizationId, batchId),
      'UPDATE pilot_batch SET claims_attempted = 1, claims_failed = 1 WHERE id = $1',
      `INSERT INTO pilot_claim_result (id, pilot_batch_id, organization_id, claim_index, claim_id, outcome)
       SELECT id || ':0', id, organization_id, 0, 'C-1', 'failed' FROM pilot_batch WHERE id = $1`,
    );
    expect(found!.batch).toMatchObject({ claimsAttempted: 1 });
    expect(found!.claims).toMatchObject([{ claimId: 'C-1' }]);
  });

  it('a reader who waits for a locked pilot session receives a timeline that is consistent with the session', async () => {
    await summarize();
    const [found] = await whileHeld(
      () => findSession(harness.db, organizationId, batchId),
      'UPDATE pilot_batch SET claims_attempted = 1, claims_failed = 1 WHERE id = $1',
      'DELETE FROM process_library_session_timeline WHERE pilot_batch_id = $1',
    );
    expect(found).toMatchObject({ session: { claimsAttempted: 1 }, timeline: [] });
  });

  it('two concurrent refreshes of an organization’s rollups recompute each day once', async () => {
    const refresh = () => refreshRoiRollups(harness.db, organizationId);
    const refreshed = await runBehindLock(
      harness.db,
      (tx) => acquireAdvisoryLock(tx, 'pilot_roi', organizationId),
      () => [refresh(), refresh()],
    );
    expect(refreshed.map(({ days }) => days).sort()).toEqual([0, 1]);
  });

  it('the rollups are rebuilt after a concurrent refresh has ended, with the days of that refresh', async () => {
    await refreshRoiRollups(harness.db, organizationId);
    const [rebuilt] = await runBehindLock(
      harness.db,
      (tx) => acquireAdvisoryLock(tx, 'pilot_roi', organizationId),
      () => [rebuildRoiRollups(harness.db, organizationId)],
      async (tx) => {
        // A rebuild marks all days as changed.
        expect(await tx.query('SELECT FROM pilot_roi_change WHERE organization_id = $1', [organizationId])).toEqual([]);
      },
    );
    expect(rebuilt!.days).toBeGreaterThan(0);
  });

  it('the deletion of old claims skips a batch that is in use until it is free', async () => {
    const sql = (text: string) => harness.db.query('system', text, [batchId]);
    await sql(
      `INSERT INTO pilot_claim_result (id, pilot_batch_id, organization_id, claim_index, claim_id, outcome)
       SELECT id || ':0', id, organization_id, 0, 'C-1', 'failed' FROM pilot_batch WHERE id = $1`,
    );
    await sql(
      `INSERT INTO pilot_roi_metric (pilot_batch_id, organization_id, processing_micros)
       SELECT id, organization_id, '{}' FROM pilot_batch WHERE id = $1`,
    );
    await harness.db.query(
      'system',
      'UPDATE organization_settings SET claim_retention_days = 30 WHERE organization_id = $1',
      [organizationId],
    );
    await sql("UPDATE pilot_batch SET occurred_at = now() - interval '90 days' WHERE id = $1");
    await refreshRoiRollups(harness.db, organizationId);
    const purge = () => purgeBatchClaims(harness.db, new Round('test'), new Date());
    const purged = await runBesideLock(
      harness.db,
      (tx) => tx.query('SELECT FROM pilot_batch WHERE id = $1 FOR UPDATE', [batchId]),
      purge,
    );
    expect([purged, await purge()]).toEqual([{ batchClaims: 0 }, { batchClaims: 1 }]);
  });
});
