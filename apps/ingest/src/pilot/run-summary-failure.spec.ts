import { createOwnerDataSource } from '@muster/database';
import {
  runBehindLock,
  type Harness,
  type HttpClient,
  makeApiKey,
  makeJob,
  makeOrganization,
  startHarness,
} from '@muster/testing';
import { ingest } from '../ingest.harness';

const path = '/api/pilot/run-summary';
const claims = ['A', 'B', 'C'].map((claimId) => ({ claimId, outcome: 'eob_uploaded' }));
const stop = { reason: 'portal_logged_out', at: '2026-01-31T09:40:00.000Z' };

describe('a run summary that cannot be stored', () => {
  let harness: Harness;
  let worker: HttpClient;
  let organizationId: string;
  const querySql = (text: string, values: unknown[] = []) => harness.db.query<any>('system', text, values);
  const tables = ['pilot_batch', 'pilot_claim_result', 'pilot_stop_event', 'process_library_session_summary'];
  const readTableContents = async () => {
    const all = [...tables, 'audit_entry', 'outbox', 'run_cost'];
    const rows = await Promise.all(all.map((table) => querySql(`SELECT t.* FROM ${table} t ORDER BY t::text`)));
    return JSON.stringify(rows);
  };
  const body = { batchSummary: { batchId: 'torn' }, claimResults: claims, stopEvents: [stop] };
  const earlier = { batchSummary: { batchId: 'torn' }, claimResults: claims.slice(0, 1) };
  const shape = {
    envelope: 'camel',
    keys: ['batchSummary', 'claimResults', 'stopEvents'],
    claimResults: 3,
    stopEvents: 1,
  };

  type Owner = ReturnType<typeof createOwnerDataSource>;
  let owner: Owner;
  beforeAll(async () => {
    harness = await startHarness(ingest);
    ({ id: organizationId } = await makeOrganization(harness.db));
    worker = harness.http.withKey((await makeApiKey(harness.db, { organizationId, scope: 'worker' })).secret);
    owner = await createOwnerDataSource(harness.databaseUrl).initialize();
  });
  afterAll(async () => {
    await owner.destroy();
    await harness.close();
  });

  /**
   * Stores an earlier report of the batch, deletes the report's queue message, and returns the contents of all tables.
   */
  const storeEarlier = async () => {
    await worker.post(path, earlier);
    await querySql("DELETE FROM outbox WHERE name = 'batch-ingested'");
    return readTableContents();
  };

  it('a run summary of which one row cannot be stored changes nothing, so that it can be sent again', async () => {
    const before = await storeEarlier();
    await owner.query(`
      CREATE FUNCTION refuse_stops() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no room for secret'; END $$;
      CREATE TRIGGER refuse_stops BEFORE INSERT ON pilot_stop_event FOR EACH ROW EXECUTE FUNCTION refuse_stops()`);
    try {
      const failed = await worker.post(path, body);
      expect([failed.status, failed.body.code, failed.body.shape]).toEqual([
        503,
        'DENTRIX_RUN_SUMMARY_INGEST_FAILED',
        shape,
      ]);
      expect(failed.headers.get('retry-after')).toBeTruthy();
      expect(failed.text).not.toContain('secret');
      expect(await readTableContents()).toBe(before);
    } finally {
      await owner.query('DROP TRIGGER refuse_stops ON pilot_stop_event; DROP FUNCTION refuse_stops()');
    }
    expect((await worker.post(path, body)).body).toMatchObject({ claims: 3, stopEvents: 1, replaced: true });
  });

  it('a run summary of a job that is deleted meanwhile is refused with JOB_NOT_FOUND', async () => {
    const { id: jobId } = await makeJob(harness.db, { organizationId });
    const [answer] = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM job WHERE id = $1 FOR UPDATE', [jobId]),
      () => [worker.post(path, { batchSummary: { batchId: 'deleted', jobId } })],
      (tx) => tx.execute('DELETE FROM job WHERE id = $1', [jobId]),
    );
    expect([answer!.status, answer!.body.code]).toEqual([404, 'JOB_NOT_FOUND']);
  });

  it('a run summary changes nothing if the database connection is lost, so that it can be sent again', async () => {
    const before = await storeEarlier();
    const [answer] = await runBehindLock(
      harness.db,
      // The test holds a lock, so that the new report waits at the statement that deletes the earlier report.
      (tx) => tx.execute("SELECT FROM pilot_claim_result WHERE id = 'torn:claim:0' FOR UPDATE"),
      () => [worker.post(path, body)],
      () =>
        owner.query(
          `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()
             AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`,
        ),
    );
    expect([answer!.status, answer!.body.code, answer!.body.shape]).toEqual([
      503,
      'DENTRIX_RUN_SUMMARY_INGEST_FAILED',
      shape,
    ]);
    expect(await readTableContents()).toBe(before);
    expect((await worker.post(path, body)).body).toMatchObject({ claims: 3, replaced: true });
  });
});
