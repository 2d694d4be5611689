import type { Principal } from '@muster/access';
import { ingestRunSummary, readRunSummary, summarizeSession } from '@muster/pilot';
import { type Answer, type Harness, makeJob, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

const batches = '/api/pilot/batches';
const sessions = '/api/process-library/sessions';

describe('batches that organizations reported', () => {
  let harness: Harness;
  let tenant: Tenant;
  const querySql = (text: string, values: unknown[] = []) => harness.db.query<any>('system', text, values);

  beforeAll(async () => {
    harness = await startHarness(gateway);
  });
  beforeEach(async () => {
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const reportBatch = (
    batchSummary: object,
    rows: { claimResults?: object[]; stopEvents?: object[] } = {},
    reporter = tenant,
  ) => {
    const { organizationId } = reporter;
    const caller: Principal = { kind: 'api_key', id: 'test', organizationId, scope: 'worker', agentId: null } as never;
    return harness.db.transaction({ organizationId }, async (tx) =>
      ingestRunSummary(tx, caller, await readRunSummary({ batchSummary, ...rows })),
    );
  };
  const summarizeAll = async () => {
    const rows = await querySql('SELECT id FROM pilot_batch WHERE organization_id = $1', [tenant.organizationId]);
    for (const { id } of rows) await harness.db.transaction('system', (tx) => summarizeSession(tx, id));
  };
  const readAllPages = async (url: string, name: 'batches' | 'sessions') => {
    const pages: string[][] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const answer: Answer = await tenant.api.get(
        `${url}${url.includes('?') ? '&' : '?'}${cursor && `cursor=${cursor}`}`,
      );
      expect(answer.status).toBe(200);
      pages.push(answer.body[name].map(({ batchId }: any) => batchId));
      cursor = answer.body.nextCursor;
    }
    return pages;
  };

  it('a pilot batch is returned as it was reported, with the cost of its job', async () => {
    const job = await makeJob(harness.db, { organizationId: tenant.organizationId, totalCostMicros: 1_234_567 });
    await reportBatch(
      {
        batchId: 'a/b c?ü',
        jobId: job.id,
        workerKey: 'eob',
        startedAt: '2026-01-31T09:00:00Z',
        finishedAt: '2026-01-31T09:35:00Z',
        totals: { claims: 2 },
        shift: 'early',
      },
      {
        claimResults: [
          { claimId: 'A', npi: '1234567893', outcome: 'eob_uploaded', processingSeconds: 0.1 },
          { claimId: 'A', outcome: 'failed', processingSeconds: 0.2, message: 'gone', portal: 'delta' },
        ],
        stopEvents: [{ reason: 'end_of_list', at: '2026-01-31T09:34:00Z' }],
      },
    );
    const presented = {
      batchId: 'a/b c?ü',
      jobId: job.id,
      workerKey: 'eob',
      startedAt: '2026-01-31T09:00:00.000Z',
      finishedAt: '2026-01-31T09:35:00.000Z',
      ingestedAt: expect.any(String),
      claims: { attempted: 2, eobUploaded: 1, noEobFound: 0, failed: 1 },
      processingSeconds: 0.3,
      totalCostUsd: 1.234567,
      stopEvents: 1,
    };
    expect((await tenant.as.viewer.get(batches)).body).toEqual({ batches: [presented], nextCursor: null });
    const detail = await tenant.api.get(`${batches}/${encodeURIComponent('a/b c?ü')}`);
    const plain = { npi: null, message: null };
    expect(detail.body).toEqual({
      ...presented,
      totals: { claims: 2 },
      metadata: { shift: 'early' },
      claimResults: [
        {
          ...plain,
          id: 'a/b c?ü:claim:0',
          index: 0,
          claimId: 'A',
          npi: '1234567893',
          outcome: 'eob_uploaded',
          processingSeconds: 0.1,
        },
        {
          ...plain,
          id: 'a/b c?ü:claim:1',
          index: 1,
          claimId: 'A',
          outcome: 'failed',
          processingSeconds: 0.2,
          message: 'gone',
          metadata: { portal: 'delta' },
        },
      ],
      stopEvents: [{ reason: 'end_of_list', at: '2026-01-31T09:34:00.000Z', detail: null }],
    });
    await summarizeAll();
    const session = {
      batchId: 'a/b c?ü',
      jobId: job.id,
      workerKey: 'eob',
      startedAt: presented.startedAt,
      finishedAt: presented.finishedAt,
      durationSeconds: 2100,
      claims: presented.claims,
      stopReason: 'end_of_list',
      headline: '2 claims in 35 minutes: 1 EOB uploaded, 1 failed; stopped: end_of_list.',
    };
    expect((await tenant.as.viewer.get(sessions)).body).toEqual({ sessions: [session], nextCursor: null });
    const { timeline, ...own } = (await tenant.api.get(`${sessions}/${encodeURIComponent('a/b c?ü')}`)).body;
    expect(own).toEqual(session);
    expect(timeline).toEqual([
      { at: '2026-01-31T09:00:00.000Z', kind: 'started', text: 'The session started.' },
      {
        at: '2026-01-31T09:00:00.100Z',
        kind: 'claim',
        claimId: 'A',
        outcome: 'eob_uploaded',
        text: 'Claim A: EOB uploaded.',
      },
      { at: '2026-01-31T09:00:00.300Z', kind: 'claim', claimId: 'A', outcome: 'failed', text: 'Claim A: failed.' },
      { at: '2026-01-31T09:34:00.000Z', kind: 'stop', reason: 'end_of_list', text: 'Stopped: end_of_list.' },
      { at: '2026-01-31T09:35:00.000Z', kind: 'finished', text: 'The session finished.' },
    ]);
  });

  it('a pilot batch belongs to the day on which it started, else ended, else arrived, in the organization’s time zone', async () => {
    await querySql(`UPDATE organization_settings SET timezone = 'America/Chicago' WHERE organization_id = $1`, [
      tenant.organizationId,
    ]);
    await reportBatch({
      batchId: 'late on the 30th',
      startedAt: '2026-01-31T05:59:59.999Z',
      finishedAt: '2026-02-01T00:00:00Z',
    });
    await reportBatch({ batchId: 'midnight of the 31st', finishedAt: '2026-01-31T06:00:00Z' });
    await reportBatch({ batchId: 'end of the 31st', startedAt: '2026-02-01T05:59:59.999Z' });
    await reportBatch({ batchId: 'now' });
    await summarizeAll();
    for (const [url, name] of [
      [batches, 'batches'],
      [sessions, 'sessions'],
    ] as const) {
      const listWithinRange = async (query: string) => (await readAllPages(`${url}?${query}`, name)).flat();
      expect(await listWithinRange('from=2026-01-31&to=2026-01-31')).toEqual([
        'end of the 31st',
        'midnight of the 31st',
      ]);
      expect(await listWithinRange('to=2026-01-30')).toEqual(['late on the 30th']);
      expect(await listWithinRange('from=2026-02-01')).toEqual(['now']);
      expect(await listWithinRange('from=2026-01-31T05:59:59.999Z&to=2026-01-31T06:00:00Z')).toEqual([
        'late on the 30th',
      ]);
      for (const query of ['from=2026-02-30', 'to=2026-1-1', 'from=yesterday', 'to=2026-13-01']) {
        expect((await tenant.api.get(`${url}?${query}`)).status).toBe(400);
      }
    }
  });

  it('pilot batches can be listed by job, workflow and worker key, only in their own organization', async () => {
    const { organizationId } = tenant;
    const job = await makeJob(harness.db, { organizationId });
    const sibling = await makeJob(harness.db, { organizationId, workflowId: job.workflowId, agentId: job.agentId });
    await reportBatch({ batchId: 'of the job', jobId: job.id, workerKey: 'eob' });
    await reportBatch({ batchId: 'of its sibling', jobId: sibling.id, workerKey: 'other' });
    await reportBatch({ batchId: 'of none' });
    await summarizeAll();
    expect((await readAllPages(`${batches}?jobId=${job.id}`, 'batches')).flat()).toEqual(['of the job']);
    expect((await readAllPages(`${batches}?workflowId=${job.workflowId}`, 'batches')).flat()).toEqual([
      'of its sibling',
      'of the job',
    ]);
    expect((await readAllPages(`${sessions}?workerKey=eob`, 'sessions')).flat()).toEqual(['of the job']);
    const other = await harness.makeTenant();
    for (const url of [batches, sessions]) {
      expect((await other.api.get(`${url}/of%20none`)).status).toBe(404);
      expect((await other.api.get(`${url}?jobId=${job.id}`)).body.nextCursor).toBeNull();
    }
    expect((await other.api.get(batches)).body.batches).toEqual([]);
    expect((await other.api.get(sessions)).body.sessions).toEqual([]);
  });

  it('a pilot batch that is reported again replaces its session', async () => {
    await reportBatch({ batchId: 'again' }, { claimResults: [{ claimId: 'A', outcome: 'failed' }] });
    const [first] = await querySql('SELECT id FROM pilot_batch WHERE organization_id = $1', [tenant.organizationId]);
    await summarizeAll();
    await summarizeAll();
    await reportBatch({ batchId: 'again' });
    expect((await tenant.api.get(sessions)).body.sessions).toEqual([]);
    expect(await harness.db.transaction('system', (tx) => summarizeSession(tx, first.id))).toBe(false);
    await summarizeAll();
    expect((await tenant.api.get(`${sessions}/again`)).body).toMatchObject({ headline: 'No claims.', timeline: [] });
  });

  it('a pilot batch whose job was deleted keeps its totals but is not turned into a session', async () => {
    const job = await makeJob(harness.db, { organizationId: tenant.organizationId, status: 'completed' });
    await reportBatch({ batchId: 'orphan', jobId: job.id }, { claimResults: [{ claimId: 'A', outcome: 'failed' }] });
    await querySql('DELETE FROM job WHERE id = $1', [job.id]);
    const [batch] = (await tenant.api.get(batches)).body.batches;
    expect(batch).toMatchObject({ batchId: 'orphan', jobId: null, claims: { attempted: 1, failed: 1 } });
    expect((await tenant.api.get(`${batches}?workflowId=${job.workflowId}`)).body.batches).toHaveLength(1);
    await summarizeAll();
    expect((await tenant.api.get(sessions)).body.sessions).toEqual([]);
  });

  describe('ten thousand batches', () => {
    const count = 10_000;
    const insertBatches = async () => {
      // Four batches have the same time, so that pages end between equal times.
      await querySql(
        `INSERT INTO pilot_batch (id, organization_id, batch_id, worker_key, occurred_at)
         SELECT gen_random_uuid(), $1, 'b' || n, 'eob', timestamptz '2026-01-01' + n / 4 * interval '1 minute'
         FROM generate_series(0, $2::int - 1) n`,
        [tenant.organizationId, count],
      );
      await querySql(
        `INSERT INTO process_library_session_summary (pilot_batch_id, organization_id, occurred_at, worker_key, headline)
         SELECT id, organization_id, occurred_at, worker_key, 'x' FROM pilot_batch WHERE organization_id = $1`,
        [tenant.organizationId],
      );
      await querySql('ANALYZE pilot_batch, process_library_session_summary').catch(() => undefined);
    };

    it('ten thousand pilot batches are listed once each, page by page', async () => {
      await insertBatches();
      for (const [url, name] of [
        [`${batches}?limit=200`, 'batches'],
        [`${sessions}?limit=200&workerKey=eob`, 'sessions'],
      ] as const) {
        const pages = await readAllPages(url, name);
        expect(pages.map(({ length }) => length)).toEqual(Array(50).fill(200));
        expect(new Set(pages.flat()).size).toBe(count);
        const order = pages.flat().map((batchId) => Math.floor(Number(batchId.slice(1)) / 4));
        expect(order).toEqual(order.toSorted((a, b) => b - a));
      }
    });
  });
});
