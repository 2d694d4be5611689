import { FakeClock, type Harness, makeJob, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { unlinkJobFromBatches } from '@muster/pilot';
import { newId } from '@muster/platform';
import { gateway } from '../gateway.harness';

describe('GET /api/pilot/roi', () => {
  let harness: Harness;
  let tenant: Tenant;
  // Time of the stopped clock: 23:30 on 19 March 2026 in Chicago.
  const clock = new FakeClock(new Date('2026-03-20T04:30:00Z'));

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, clock });
  });
  beforeEach(async () => {
    tenant = await harness.makeTenant();
    await tenant.as.admin.patch('/api/organization/settings', { timezone: 'America/Chicago' });
  });
  afterAll(() => harness.close());

  const querySql = (text: string, values: unknown[]) => harness.db.query('system', text, values);
  const requestRoi = (query = '') => tenant.api.get(`/api/pilot/roi?${query}`);

  /** Inserts a batch at a time, with one uploaded claim for each processing time. */
  async function insertBatch(at: string, micros: (number | null)[], jobId: string | null = null) {
    const id = newId();
    await querySql(
      `INSERT INTO pilot_batch (id, organization_id, batch_id, job_id, named_job_id, workflow_id, occurred_at,
         claims_attempted, claims_eob_uploaded)
       SELECT $1::uuid, $2, $1::text, $3, $3, (SELECT workflow_id FROM job WHERE id = $3), $4, $5, $5`,
      [id, tenant.organizationId, jobId, at, micros.length],
    );
    await querySql(
      `INSERT INTO pilot_claim_result (organization_id, id, pilot_batch_id, claim_index, claim_id, outcome, processing_micros)
       SELECT $1, $2 || ':claim:' || n, $2::uuid, n, 'C', 'eob_uploaded', m
       FROM unnest($3::bigint[]) WITH ORDINALITY AS c (m, n)`,
      [tenant.organizationId, id, micros],
    );
    await querySql(
      `INSERT INTO pilot_roi_metric (pilot_batch_id, organization_id, processing_micros)
       SELECT $1, $2, ARRAY(SELECT m FROM unnest($3::bigint[]) m WHERE m IS NOT NULL ORDER BY 1)`,
      [id, tenant.organizationId, micros],
    );
    return id;
  }
  const makeCostedJob = async (costMicros: number, workflowId?: string) => {
    const { organizationId } = tenant;
    const { id } = await makeJob(harness.db, { organizationId, status: 'completed', workflowId });
    await querySql('UPDATE job SET total_cost_micros = $2 WHERE id = $1', [id, costMicros]);
    return id;
  };

  it('ROI without data has zeros and nulls, for today and the 29 days before in the organization’s zone', async () => {
    const { status, body } = await requestRoi();
    expect(status).toBe(200);
    expect(body).toMatchObject({
      from: '2026-02-18',
      to: '2026-03-19',
      batches: 0,
      jobs: 0,
      claims: { attempted: 0, eobUploaded: 0, noEobFound: 0, failed: 0, perHour: null },
      processing: { totalSeconds: 0, averageSeconds: null, p50Seconds: null, p95Seconds: null },
      cost: { computeUsd: 0, perClaimUsd: null },
      savings: { minutesPerClaim: 12, hoursSaved: 0, laborUsd: 0, netUsd: 0, roiPercent: null },
    });
    expect(body.daily).toHaveLength(30);
    expect(body.daily.at(-1)).toEqual({
      date: '2026-03-19',
      claims: { attempted: 0, eobUploaded: 0, noEobFound: 0, failed: 0 },
      processingSeconds: 0,
      computeUsd: 0,
      laborUsd: 0,
      netUsd: 0,
    });
  });

  it('ROI from rollups has the same claims, times, cost and savings as ROI from raw rows', async () => {
    const jobId = await makeCostedJob(500_000);
    await insertBatch('2026-03-10T15:00:00Z', [10_000_000, 20_000_000, null], jobId);
    await insertBatch('2026-03-11T15:00:00Z', [40_000_000], jobId);
    const { body } = await requestRoi('from=2026-03-09&to=2026-03-12');
    expect(body).toMatchObject({
      source: 'rollup',
      batches: 2,
      jobs: 1,
      claims: { attempted: 4, eobUploaded: 4, perHour: 205.7143 },
      processing: { totalSeconds: 70, averageSeconds: 23.3333, p50Seconds: 20, p95Seconds: 38 },
      cost: { computeUsd: 0.5, perClaimUsd: 0.125 },
      savings: { minutesPerClaim: 12, hoursSaved: 0.8, laborUsd: 22.4, netUsd: 21.9, roiPercent: 4380 },
    });
    expect(body.daily.map(({ computeUsd, laborUsd }: any) => [computeUsd, laborUsd])).toEqual([
      [0, 0],
      [0.5, 16.8],
      [0, 5.6],
      [0, 0],
    ]);
    expect((await requestRoi('from=2026-03-09&to=2026-03-12&source=computed')).body).toEqual({
      ...body,
      source: 'computed',
    });
    // If the range starts after the job's first day, the job is counted on its first day within the range.
    expect((await requestRoi('from=2026-03-11&to=2026-03-12')).body).toMatchObject({
      jobs: 1,
      cost: { computeUsd: 0.5 },
    });
  });

  it('ROI leaves out the time for which runs waited for people, also after the run is deleted', async () => {
    const [one, two] = [await makeCostedJob(500_000), await makeCostedJob(0)];
    await insertBatch('2026-03-10T15:00:00Z', [100_000_000, 50_000_000], one);
    await insertBatch('2026-03-11T15:00:00Z', [40_000_000], one);
    await insertBatch('2026-03-11T16:00:00Z', [5_000_000], two);
    const insertQuestion = (jobId: string, from: number, to: number) =>
      querySql(
        `INSERT INTO question (id, organization_id, job_id, agent_id, question_key, question, kind, expires_at, asked_at)
         SELECT $1::uuid, organization_id, id, agent_id, $1::uuid::text, 'Code?', 'code', '2026-03-10T16:00:00Z'::timestamptz,
           '2026-03-10T15:00:00Z'::timestamptz + $3 * interval '1 second' FROM job WHERE id = $2`,
        [newId(), jobId, from],
      ).then(() =>
        querySql(
          `UPDATE question SET status = 'answered', ended_at = asked_at + $3 * interval '1 second'
           WHERE job_id = $1 AND asked_at = '2026-03-10T15:00:00Z'::timestamptz + $2 * interval '1 second'`,
          [jobId, from, to - from],
        ),
      );
    const readEqualFigures = async (range: string) => {
      const [rollup, computed] = [await requestRoi(range), await requestRoi(`${range}&source=computed`)];
      expect(rollup.body).toEqual({ ...computed.body, source: 'rollup' });
      const { processing, daily } = rollup.body;
      return [processing.totalSeconds, daily.map((day: any) => day.processingSeconds)];
    };
    expect(await readEqualFigures('from=2026-03-10&to=2026-03-11')).toEqual([195, [150, 45]]);
    // Two open questions at the same time count once: 10 to 40 s is waiting.
    await insertQuestion(one, 10, 30);
    await insertQuestion(one, 20, 40);
    await insertQuestion(two, 0, 60);
    expect(await readEqualFigures('from=2026-03-10&to=2026-03-11')).toEqual([105, [120, 0]]);
    expect(await readEqualFigures('from=2026-03-11&to=2026-03-11')).toEqual([0, [0]]);
    await harness.db.transaction({ organizationId: tenant.organizationId }, (tx) =>
      unlinkJobFromBatches(tx, { organizationId: tenant.organizationId, jobId: one }),
    );
    await querySql('DELETE FROM job WHERE id = $1', [one]);
    expect(await readEqualFigures('from=2026-03-10&to=2026-03-11')).toEqual([105, [120, 0]]);
  });

  it.each([
    ['a skipped hour', '2026-03-08', ['2026-03-08T06:00:00Z', '2026-03-08T08:30:00Z', '2026-03-09T04:59:59Z']],
    ['a repeated hour', '2025-11-02', ['2025-11-02T05:00:00Z', '2025-11-02T06:30:00Z', '2025-11-03T05:59:59Z']],
  ])('ROI counts exactly the batches of a day with %s', async (_, day, moments) => {
    for (const at of moments) await insertBatch(at, [1_000_000]);
    const around = [new Date(Date.parse(moments[0]!) - 1000), new Date(Date.parse(moments[2]!) + 1000)];
    for (const at of around) await insertBatch(at.toISOString(), [1_000_000]);
    for (const source of ['', '&source=computed']) {
      expect((await requestRoi(`from=${day}&to=${day}${source}`)).body.claims.attempted).toBe(3);
    }
  });

  it('ROI can be filtered by workflow', async () => {
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId: tenant.organizationId });
    await insertBatch('2026-03-10T15:00:00Z', [1_000_000], await makeCostedJob(70_000, workflowId));
    await insertBatch('2026-03-10T15:00:00Z', [5_000_000], await makeCostedJob(20_000));
    await insertBatch('2026-03-10T15:00:00Z', [9_000_000]);
    for (const source of ['', '&source=computed']) {
      const { body } = await requestRoi(`workflowId=${workflowId}${source}`);
      expect(body).toMatchObject({ batches: 1, jobs: 1, cost: { computeUsd: 0.07 }, processing: { p50Seconds: 1 } });
      expect((await requestRoi(`workflowId=${newId()}${source}`)).body.batches).toBe(0);
      expect((await requestRoi(source)).body).toMatchObject({ batches: 3, jobs: 2, cost: { computeUsd: 0.09 } });
    }
  });

  it('ROI reflects changes of the time zone, settings and costs at once', async () => {
    const jobId = await makeCostedJob(100_000);
    await insertBatch('2026-03-10T02:00:00Z', [1_000_000], jobId);
    const readDayRoi = async (day: string) => (await requestRoi(`from=${day}&to=${day}`)).body;
    expect(await readDayRoi('2026-03-09')).toMatchObject({ source: 'rollup', batches: 1 });
    await querySql('UPDATE job SET total_cost_micros = 250000 WHERE id = $1', [jobId]);
    expect(await readDayRoi('2026-03-09')).toMatchObject({ source: 'rollup', cost: { computeUsd: 0.25 } });
    await tenant.as.admin.patch('/api/organization/settings', { timezone: 'Asia/Tokyo', minutesSavedPerClaim: 60 });
    expect(await readDayRoi('2026-03-09')).toMatchObject({ batches: 0 });
    expect(await readDayRoi('2026-03-10')).toMatchObject({ batches: 1, savings: { laborUsd: 28 } });
  });

  it('ROI keeps its figures when a job is deleted', async () => {
    const jobId = await makeCostedJob(100_000);
    await insertBatch('2026-03-10T15:00:00Z', [1_000_000, 3_000_000], jobId);
    const before = (await requestRoi()).body;
    expect((await tenant.as.member.delete(`/api/jobs/${jobId}`)).status).toBe(204);
    const left = await querySql('SELECT FROM pilot_claim_result WHERE organization_id = $1', [tenant.organizationId]);
    expect(left).toEqual([]);
    for (const source of ['rollup', 'computed']) {
      const { body } = await requestRoi(source === 'computed' ? 'source=computed' : '');
      expect(body).toEqual({ ...before, source, jobs: 0 });
    }
  });

  it('ROI is computed for a valid range of days of up to three years; other ranges are refused', async () => {
    const { status, body } = await requestRoi('from=2023-03-01&to=2026-03-01');
    expect([status, body.daily.length]).toEqual([200, 1097]);
    for (const [query, days] of [
      ['from=0001-01-01&to=0003-12-31', 1095],
      ['to=9999-12-31', 30],
      ['from=9999-12-31&to=9999-12-31', 1],
    ] as const) {
      const [summed, computed] = [await requestRoi(query), await requestRoi(`${query}&source=computed`)];
      expect([query, summed.body.daily.length, computed.body.daily.length]).toEqual([query, days, days]);
    }
    for (const [query, field] of [
      ['from=2026-02-31', 'from'],
      ['to=2025-02-29', 'to'],
      ['from=2026-3-1', 'from'],
      ['from=2026-03-01T00:00:00Z', 'from'],
      ['from=2026-03-02&to=2026-03-01', 'to'],
      ['from=2026-03-21', 'to'],
      ['from=2023-03-01&to=2026-03-02', 'to'],
      ['workflowId=7', 'workflowId'],
      ['source=rollup', 'source'],
    ] as const) {
      const refused = await requestRoi(query);
      expect([query, refused.status, refused.body.code, refused.body.errors[0].field]).toEqual([
        query,
        400,
        'invalid_payload',
        field,
      ]);
    }
  });

  it('ROI shows nothing of another organization', async () => {
    await insertBatch('2026-03-10T15:00:00Z', [1_000_000], await makeCostedJob(100_000));
    const other = await harness.makeTenant();
    for (const source of ['', 'source=computed']) {
      expect((await other.api.get(`/api/pilot/roi?${source}`)).body).toMatchObject({
        batches: 0,
        cost: { computeUsd: 0 },
      });
    }
  });
});
