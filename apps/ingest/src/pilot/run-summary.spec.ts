import { newId } from '@muster/platform';
import { type Harness, type HttpClient, makeApiKey, makeJob, makeOrganization, startHarness } from '@muster/testing';
import { ingest } from '../ingest.harness';

const path = '/api/pilot/run-summary';
const invalid = 'INVALID_RUN_SUMMARY_PAYLOAD';
const unreadable = 'RUN_SUMMARY_REQUEST_FAILED';
const claims = [
  { claimId: 'A', npi: '1234567893', outcome: 'eob_uploaded', processingSeconds: 30.25 },
  { claimId: 'B', outcome: 'no_eob_found', processingSeconds: 12.5, message: 'nothing there' },
  { claimId: 'A', outcome: 'failed', portal: 'delta' },
];
const snakeClaims = [
  { claim_id: 'A', npi: '1234567893', outcome: 'eob_uploaded', processing_seconds: 30.25 },
  { claim_id: 'B', outcome: 'no_eob_found', processing_seconds: 12.5, message: 'nothing there' },
  { claim_id: 'A', outcome: 'failed', portal: 'delta' },
];
const stop = { reason: 'portal_logged_out', at: '2026-01-31T09:40:00.000Z', detail: 'twice' };

describe('a run summary', () => {
  let harness: Harness;
  let organizationId: string;
  let worker: HttpClient;
  const querySql = (text: string, values: unknown[] = []) => harness.db.query<any>('system', text, values);

  beforeAll(async () => {
    harness = await startHarness({ ...ingest, env: { RATE_LIMIT_PER_MINUTE: '100000' } });
    organizationId = (await makeOrganization(harness.db)).id;
    worker = harness.http.withKey((await makeApiKey(harness.db, { organizationId, scope: 'worker' })).secret);
  });
  afterAll(() => harness.close());

  const readStoredBatch = async (batchId: string, organization = organizationId) => {
    const [batch] = await querySql('SELECT * FROM pilot_batch WHERE organization_id = $1 AND batch_id = $2', [
      organization,
      batchId,
    ]);
    if (!batch) return null;
    const rows = await querySql('SELECT * FROM pilot_claim_result WHERE pilot_batch_id = $1 ORDER BY claim_index', [
      batch.id,
    ]);
    const stops = await querySql('SELECT * FROM pilot_stop_event WHERE pilot_batch_id = $1 ORDER BY event_index', [
      batch.id,
    ]);
    return { batch, rows, stops };
  };
  /** Returns the stored rows without the columns that change with each report. */
  const readStoredContents = async (batchId: string) => {
    const { batch, rows, stops } = (await readStoredBatch(batchId))!;
    const omitGeneratedColumns = ({ id: _id, pilotBatchId: _batch, batchId: _name, ingestedAt: _at, ...row }: any) =>
      row;
    return JSON.parse(
      JSON.stringify([omitGeneratedColumns(batch), rows.map(omitGeneratedColumns), stops.map(omitGeneratedColumns)]),
    ) as unknown;
  };

  it('the same rows are stored for each envelope and spelling of a run summary', async () => {
    const camel = { jobId: null, workerKey: 'eob', startedAt: '2026-01-31T09:30:00Z', shift: 'early' };
    const snake = { job_id: null, worker_key: 'eob', started_at: '2026-01-31T10:30:00+01:00', shift: 'early' };
    const bodies = [
      { batchSummary: { batchId: 'e0', ...camel }, claimResults: claims, stopEvents: [stop] },
      { practiceRunSummary: { batchSummary: { batchId: 'e1', ...camel }, claimResults: claims, stopEvents: [stop] } },
      {
        practice_run_summary: {
          batch_summary: { batch_id: 'e2', ...snake },
          claim_results: snakeClaims,
          stop_events: [stop],
        },
      },
      // This body mixes camel case and snake case, and has some fields with equal values in both.
      {
        practiceRunSummary: {
          batch_summary: { batchId: 'e3', batch_id: 'e3', ...camel, ...snake, startedAt: snake.started_at },
          claimResults: snakeClaims,
          stop_events: [stop],
          stopEvents: [stop],
        },
      },
    ];
    for (const [at, body] of bodies.entries()) {
      const answer = await worker.post(path, body);
      expect([answer.status, answer.body]).toEqual([
        201,
        { success: true, batchId: `e${at}`, jobId: null, claims: 3, stopEvents: 1 },
      ]);
      expect(answer.headers.get('location')).toBe(`/api/pilot/batches/e${at}`);
      expect(await readStoredContents(`e${at}`)).toEqual(await readStoredContents('e0'));
    }
    const { batch, rows } = (await readStoredBatch('e2'))!;
    expect(batch).toMatchObject({
      claimsAttempted: 3,
      claimsEobUploaded: 1,
      claimsNoEobFound: 1,
      claimsFailed: 1,
      processingMicros: 42_750_000,
      metadata: { shift: 'early' },
    });
    expect(rows.map(({ id, claimId, metadata }: any) => [id, claimId, metadata])).toEqual([
      ['e2:claim:0', 'A', null],
      ['e2:claim:1', 'B', null],
      ['e2:claim:2', 'A', { portal: 'delta' }],
    ]);
  });

  it('the error of a refused run summary has a code and the body’s shape, but no contents of the body', async () => {
    const batchSummary = { batchId: 'secret-batch' };
    const none = { envelope: null, keys: [] as string[], claimResults: null, stopEvents: null };
    const camel = { envelope: 'camel', keys: ['batchSummary'], claimResults: null, stopEvents: null };
    const cases: [string, unknown, number, string, object?][] = [
      ['an empty body', '', 400, unreadable, none],
      ['broken JSON', '{"batchSummary":', 400, unreadable, none],
      ['a list', '[]', 400, invalid, none],
      ['no envelope', '{}', 400, invalid, none],
      [
        'a top-level batch_summary',
        { batch_summary: { batch_id: 'secret-batch' } },
        400,
        invalid,
        { ...none, keys: ['batch_summary'] },
      ],
      [
        'two envelopes',
        { batchSummary, practiceRunSummary: { batchSummary } },
        400,
        invalid,
        { ...none, keys: ['batchSummary', 'practiceRunSummary'] },
      ],
      ['two envelopes', { practice_run_summary: {}, practiceRunSummary: {} }, 400, invalid],
      ['rows next to an envelope', { practiceRunSummary: { batchSummary }, claim_results: [] }, 400, invalid],
      [
        'an invalid envelope',
        { practiceRunSummary: 'secret' },
        400,
        invalid,
        { ...none, envelope: 'nested', keys: ['practiceRunSummary'] },
      ],
      [
        'rows without a batch',
        { claimResults: [] },
        400,
        invalid,
        { ...camel, keys: ['claimResults'], claimResults: 0 },
      ],
      ['no batch id', { batchSummary: {} }, 400, 'MISSING_BATCH_ID', camel],
      ['a batch id of spaces', { batchSummary: { batchId: '  ' } }, 400, 'MISSING_BATCH_ID', camel],
      ['a number as batch id', { batchSummary: { batchId: 7 } }, 400, invalid, camel],
      ['two spellings', { batchSummary: { batchId: 'secret', batch_id: 'other' } }, 400, invalid, camel],
      [
        'two spellings of rows',
        { practice_run_summary: { batch_summary: batchSummary, claim_results: [], claimResults: claims } },
        400,
        invalid,
      ],
      ['two spellings in a row', { batchSummary, claimResults: [{ ...claims[0], claim_id: 'secret' }] }, 400, invalid],
      [
        'an invalid outcome',
        { batchSummary, claimResults: [{ claimId: 'secret', outcome: 'secret' }] },
        400,
        invalid,
        { ...camel, keys: ['batchSummary', 'claimResults'], claimResults: 1 },
      ],
      ['a number as text', { batchSummary, claimResults: [{ ...claims[0], processingSeconds: '5' }] }, 400, invalid],
      ['an invalid time', { batchSummary: { ...batchSummary, startedAt: 'secret' } }, 400, invalid],
      ['an invalid job id', { batchSummary: { ...batchSummary, jobId: 'secret' } }, 400, invalid],
      ['an unknown job', { batchSummary: { ...batchSummary, jobId: newId() } }, 404, 'JOB_NOT_FOUND', camel],
      ['U+0000', { batchSummary: { batchId: 'secret\u0000' } }, 400, unreadable, none],
      ['deep nesting', `{"batchSummary":${'['.repeat(70)}${']'.repeat(70)}}`, 400, unreadable, none],
      ['too large', `{"batchSummary":"${'x'.repeat(8 * 1024 * 1024)}"}`, 413, unreadable, none],
      ['too many values', `{"a":[${'1,'.repeat(2_000_000)}1]}`, 413, unreadable, none],
      [
        '100,000 claims',
        { batchSummary, claimResults: Array.from({ length: 100_000 }, () => ({ claimId: 's', outcome: 'failed' })) },
        400,
        invalid,
        { ...camel, keys: ['batchSummary', 'claimResults'], claimResults: 100_000 },
      ],
    ];
    for (const [label, body, status, code, shape] of cases) {
      const answer = await worker.send('POST', path, typeof body === 'string' ? body : JSON.stringify(body));
      expect([label, answer.status, answer.body.code]).toEqual([label, status, code]);
      expect(answer.headers.get('content-type')).toMatch('application/problem+json');
      if (shape) expect([label, answer.body.shape]).toEqual([label, shape]);
      expect(answer.text).not.toContain('secret');
    }
    const form = await worker.with({ 'content-type': 'text/plain' }).send('POST', path, 'secret');
    expect([form.status, form.body.code, form.body.shape]).toEqual([415, unreadable, none]);
    expect(await readStoredBatch('secret-batch')).toBeNull();
  });

  it('the shape in a run summary’s error lists at most 50 keys, each with a maximum length', async () => {
    const body = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`${'k'.repeat(200)}${at}`, 1]));
    const { shape } = (await worker.post(path, body)).body;
    expect(shape.keys).toHaveLength(50);
    expect(shape.keys[0].length).toBeLessThanOrEqual(110);
  });

  it('a run summary is accepted with a worker key or an API key, but not without a key', async () => {
    const api = harness.http.withKey((await makeApiKey(harness.db, { organizationId, scope: 'api' })).secret);
    const postEmptyBatch = (client: HttpClient) => client.post(path, { batchSummary: { batchId: newId() } });
    expect([(await postEmptyBatch(worker)).status, (await postEmptyBatch(api)).status]).toEqual([201, 201]);
    const unauthenticated = await postEmptyBatch(harness.http);
    expect([unauthenticated.status, unauthenticated.body.code, unauthenticated.body.shape]).toEqual([
      401,
      'unauthenticated',
      undefined,
    ]);
  });

  it('a run summary may name any job of its organization, but with an agent’s key only a job of that agent', async () => {
    const own = await makeJob(harness.db, { organizationId });
    const other = await makeJob(harness.db, { organizationId });
    const foreign = await makeJob(harness.db, { organizationId: (await makeOrganization(harness.db)).id });
    const key = await makeApiKey(harness.db, { organizationId, scope: 'worker', agentId: own.agentId });
    const machine = harness.http.withKey(key.secret);
    const postBatchOfJob = (client: HttpClient, jobId: string) =>
      client.post(path, { batchSummary: { batchId: `of ${jobId}`, jobId }, claimResults: claims });
    expect((await postBatchOfJob(machine, own.id)).body).toMatchObject({ jobId: own.id, claims: 3 });
    expect((await readStoredBatch(`of ${own.id}`))!.batch).toMatchObject({
      jobId: own.id,
      namedJobId: own.id,
      workflowId: own.workflowId,
    });
    const refused = [
      await postBatchOfJob(machine, other.id),
      await postBatchOfJob(machine, foreign.id),
      await postBatchOfJob(worker, foreign.id),
    ];
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual(Array(3).fill([404, 'JOB_NOT_FOUND']));
    expect(await readStoredBatch(`of ${other.id}`)).toBeNull();
    expect(await readStoredBatch(`of ${foreign.id}`)).toBeNull();
  });

  it('a run summary replaces only the stored summary of its batch', async () => {
    const otherOrganizationId = (await makeOrganization(harness.db)).id;
    const otherWorker = harness.http.withKey(
      (await makeApiKey(harness.db, { organizationId: otherOrganizationId, scope: 'worker' })).secret,
    );
    const batchSummary = { batchId: 'again' };
    await otherWorker.post(path, { batchSummary, claimResults: claims });
    await worker.post(path, { batchSummary: { batchId: 'again2' }, claimResults: claims });
    const others = [await readStoredBatch('again', otherOrganizationId), await readStoredBatch('again2')];

    await worker.post(path, { batchSummary, claimResults: claims, stopEvents: [stop] });
    const first = (await readStoredBatch('again'))!;
    await querySql(
      `INSERT INTO process_library_session_summary (pilot_batch_id, organization_id, occurred_at, headline)
       VALUES ($1, $2, now(), 'of the first')`,
      [first.batch.id, organizationId],
    );
    const answer = await worker.post(path, { batchSummary, claimResults: claims.slice(1) });
    expect([answer.status, answer.body]).toEqual([
      201,
      { success: true, batchId: 'again', jobId: null, claims: 2, stopEvents: 0, replaced: true },
    ]);
    const second = (await readStoredBatch('again'))!;
    expect(second.rows.map(({ id, claimId }: any) => [id, claimId])).toEqual([
      ['again:claim:0', 'B'],
      ['again:claim:1', 'A'],
    ]);
    expect(second.stops).toEqual([]);
    expect(second.batch).toMatchObject({ claimsAttempted: 2, stopEvents: 0 });
    for (const table of ['pilot_claim_result', 'pilot_stop_event', 'process_library_session_summary']) {
      expect(await querySql(`SELECT FROM ${table} WHERE pilot_batch_id = $1`, [first.batch.id])).toEqual([]);
    }
    expect([await readStoredBatch('again', otherOrganizationId), await readStoredBatch('again2')]).toEqual(others);
    const trail = await querySql(
      `SELECT actor_kind, changes FROM audit_entry WHERE action = 'pilot_batch.ingest' AND target_id = 'again'
         AND organization_id = $1 ORDER BY id`,
      [organizationId],
    );
    expect(trail.map(({ actorKind, changes }: any) => [actorKind, changes.replaced, changes.claims])).toEqual([
      ['api_key', false, 3],
      ['api_key', true, 2],
    ]);
  });

  it('one of several concurrent run summaries of a batch is stored completely', async () => {
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, teller) =>
        worker.post(path, {
          batchSummary: { batchId: 'raced', metadata: { teller } },
          claimResults: Array.from({ length: teller + 1 }, () => ({ claimId: `of ${teller}`, outcome: 'failed' })),
        }),
      ),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array(12).fill(201));
    expect(responses.filter(({ body }) => !body.replaced)).toHaveLength(1);
    const { batch, rows } = (await readStoredBatch('raced'))!;
    const { teller } = batch.metadata;
    expect(rows.map(({ claimId }: any) => claimId)).toEqual(Array(teller + 1).fill(`of ${teller}`));
    expect(batch.claimsAttempted).toBe(teller + 1);
    const [{ count }] = await querySql(
      `SELECT count(*) FROM pilot_batch WHERE organization_id = $1 AND batch_id = 'raced'`,
      [organizationId],
    );
    expect(count).toBe(1);
  });

  it('a run summary with 10,000 claims is stored completely, and one with more is refused', async () => {
    const rows = Array.from({ length: 10_000 }, (_, at) => ({
      claimId: `C${at}`,
      outcome: 'eob_uploaded',
      processingSeconds: 0.000001,
    }));
    const answer = await worker.post(path, { batchSummary: { batchId: 'large' }, claimResults: rows });
    expect([answer.status, answer.body.claims]).toEqual([201, 10_000]);
    const { batch, rows: storedRows } = (await readStoredBatch('large'))!;
    expect(storedRows.map(({ claimId }: any) => claimId)).toEqual(rows.map(({ claimId }) => claimId));
    expect(batch).toMatchObject({ claimsAttempted: 10_000, processingMicros: 10_000 });
    const more = await worker.post(path, { batchSummary: { batchId: 'large' }, claimResults: [...rows, rows[0]] });
    expect([more.status, more.body.code]).toEqual([400, invalid]);
    expect((await readStoredBatch('large'))!.batch).toEqual(batch);
  });

  it('unpaired surrogates in the text of a run summary are replaced by U+FFFD', async () => {
    const text = '{"batchSummary":{"batchId":"half"},"claimResults":[{"claimId":"a\\ud83d","outcome":"failed"}]}';
    expect((await worker.send('POST', path, text)).status).toBe(201);
    expect((await readStoredBatch('half'))!.rows[0].claimId).toBe('a\ufffd');
  });

  it('a run summary books the cost of its ended run and writes it to the job', async () => {
    await querySql('UPDATE organization_settings SET compute_micros_per_hour = 3600000 WHERE organization_id = $1', [
      organizationId,
    ]);
    const finishedAt = new Date();
    const startedAt = new Date(finishedAt.getTime() - 1_000_000);
    const { id: jobId } = await makeJob(harness.db, { organizationId, status: 'completed', startedAt, finishedAt });
    const answer = await worker.post(path, { batchSummary: { batchId: 'costed', jobId }, claimResults: claims });
    expect(answer.status).toBe(201);
    const [job] = await querySql('SELECT * FROM job WHERE id = $1', [jobId]);
    const [cost] = await querySql('SELECT * FROM run_cost WHERE job_id = $1', [jobId]);
    expect(cost).toBeDefined();
    expect(job.totalCostMicros).toBe(1_000_000);
  });
});
