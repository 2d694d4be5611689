import { Client } from 'pg';
import { smallestIdAt, newId } from '@muster/platform';
import {
  runBehindLock,
  type Harness,
  type HttpClient,
  chooseSize,
  makeJob,
  startHarness,
  type Tenant,
} from '@muster/testing';
import { gateway } from '../gateway.harness';

const path = '/api/admin/client-pricing';

describe('client pricing', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
  });
  beforeEach(async () => {
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const queryRows = <T extends object>(sql: string, values: unknown[] = []) =>
    harness.db.query<T & object>('system', sql, values);

  /** Creates a job whose steps have this metadata, in this order. */
  async function makeRun(...metadata: (object | null)[]): Promise<string> {
    const { id } = await makeJob(harness.db, { organizationId: tenant.organizationId, status: 'completed' });
    await queryRows(
      `INSERT INTO job_step (job_id, step_order, organization_id, status, state_key, metadata)
       SELECT $1, n, $2, 'passed', 1, m FROM unnest($3::jsonb[]) WITH ORDINALITY AS s (m, n)`,
      [id, tenant.organizationId, metadata.map((each) => each && JSON.stringify(each))],
    );
    return id;
  }
  const claim = (npi: unknown, claim_id?: unknown, more: object = {}) => ({
    type: 'claim_result',
    npi,
    claim_id,
    ...more,
  });
  const select = (npi: unknown) => ({ type: 'select_org_provider', npi });
  const backfill = (job_id: string, more: object = {}, client: HttpClient = tenant.as.admin) =>
    client.post(`${path}/backfill`, { job_id, ...more });
  const setModel = (model: object, client: HttpClient = tenant.as.admin) =>
    client.put(`${path}/${tenant.organizationId}`, model);
  const readMetrics = (jobId: string) => queryRows('SELECT id FROM billing_metric WHERE job_id = $1', [jobId]);

  it('a billing backfill counts each claim once per NPI and charges every started block of claims', async () => {
    const many = Array.from({ length: 51 }, (_, at) => claim('1000000001', `C-${at}`));
    const id = await makeRun(...many, claim('1000000002', 'C-0'), claim('1000000001', 'C-7'), null, { type: 'other' });
    const { status, body } = await backfill(id, { create_default_model: true });
    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      replaced_existing: false,
      metric_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      organization_id: tenant.organizationId,
      npi_count: 2,
      total_claims: 52,
      total_steps_before_dedup: 53,
      duplicates_removed: 1,
      claims_per_npi: { 1000000001: 51, 1000000002: 1 },
      calculated_charge_usd: 75,
      charge_breakdown: {
        pricingType: 'npi_claim_block',
        blockSize: 50,
        pricePerBlockUsd: 25,
        npis: [
          { npi: '1000000001', claims: 51, blocks: 2, chargeUsd: 50 },
          { npi: '1000000002', claims: 1, blocks: 1, chargeUsd: 25 },
        ],
        minimumUsd: 0,
      },
    });
    const model = await tenant.as.admin.get(`${path}/${tenant.organizationId}`);
    expect(model.body).toEqual({
      pricingType: 'npi_claim_block',
      blockSize: 50,
      pricePerBlockUsd: 25,
      minimumUsd: 0,
    });
    const steps = await tenant.as.admin.get(`${path}/metrics/${body.metric_id}/steps?limit=200`);
    expect(steps.body.steps).toHaveLength(53);
    expect(steps.body.steps.slice(-2)).toEqual([
      { step_order: 52, npi: '1000000002', claim_id: 'C-0', claim_submission_id: null, verdict: 'counted' },
      { step_order: 53, npi: '1000000001', claim_id: 'C-7', claim_submission_id: null, verdict: 'repeated' },
    ]);
  });

  it.each<[string, (object | null)[], object]>([
    [
      'a claim by its submission id if it has no claim id, and does not mix the two kinds of id',
      [
        claim('1', undefined, { claim_submission_id: 'A' }),
        claim('1', 'A'),
        claim('1', 'A', { claim_submission_id: 'B' }),
        claim('1', undefined, { claim_submission_id: 'B' }),
        claim('1', undefined, { claim_submission_id: 'A' }),
      ],
      { total_claims: 3, total_steps_before_dedup: 5, duplicates_removed: 2, claims_per_npi: { 1: 3 } },
    ],
    [
      'claims without any id only before deduplication',
      [claim('1', 'A'), claim('1'), claim('2'), claim('1', '  '), claim('1', null)],
      { npi_count: 1, total_claims: 1, total_steps_before_dedup: 5, duplicates_removed: 0, claims_per_npi: { 1: 1 } },
    ],
    [
      'a claim without an NPI for the NPI selected last before it, and not if there is none',
      [claim(undefined, 'A'), select('7'), claim(undefined, 'B'), claim('9', 'C'), select('8'), claim('', 'D')],
      { total_claims: 3, total_steps_before_dedup: 4, duplicates_removed: 0, claims_per_npi: { 7: 1, 8: 1, 9: 1 } },
    ],
    [
      'an NPI that was selected but has no claims as an NPI without claims',
      [select('7'), select('8'), select('7'), select(null)],
      {
        npi_count: 2,
        total_claims: 0,
        total_steps_before_dedup: 0,
        duplicates_removed: 0,
        claims_per_npi: { 7: 0, 8: 0 },
        calculated_charge_usd: 0,
      },
    ],
    [
      'a claim without an NPI only before deduplication, if an NPI is selected after it',
      [claim(undefined, 'A'), select('7')],
      { npi_count: 0, total_claims: 0, total_steps_before_dedup: 1, claims_per_npi: {}, calculated_charge_usd: 0 },
    ],
    [
      'claims whose ids are numbers or strings, but not objects',
      [claim(7, 42), claim('7', '42'), claim({ npi: '7' }, 'A'), claim('7', ['A']), claim('__proto__', 'A')],
      {
        total_claims: 2,
        total_steps_before_dedup: 5,
        duplicates_removed: 1,
        claims_per_npi: JSON.parse('{"7": 1, "__proto__": 1}') as object,
      },
    ],
  ])('a billing backfill counts %s', async (_, metadata, figures) => {
    const { status, body } = await backfill(await makeRun(...metadata), { create_default_model: true });
    expect([status, body]).toEqual([200, expect.objectContaining(figures)]);
  });

  it.each<[string, object, object, object]>([
    [
      'per claim',
      { pricingType: 'per_claim', pricePerClaimUsd: 0.333333 },
      { pricingType: 'per_claim', pricePerClaimUsd: 0.333333, claims: 3, minimumUsd: 0 },
      { calculated_charge_usd: 0.999999 },
    ],
    [
      'per run',
      { pricingType: 'flat_per_run', pricePerRunUsd: 12.5, minimumUsd: 0 },
      { pricingType: 'flat_per_run', pricePerRunUsd: 12.5, minimumUsd: 0 },
      { calculated_charge_usd: 12.5 },
    ],
    [
      'at least the minimum',
      { pricingType: 'npi_claim_block', blockSize: 2, pricePerBlockUsd: 1, minimumUsd: 9.99 },
      {
        pricingType: 'npi_claim_block',
        blockSize: 2,
        pricePerBlockUsd: 1,
        npis: [
          { npi: '1', claims: 2, blocks: 1, chargeUsd: 1 },
          { npi: '2', claims: 1, blocks: 1, chargeUsd: 1 },
        ],
        minimumUsd: 9.99,
      },
      { calculated_charge_usd: 9.99 },
    ],
  ])('a billing backfill charges %s', async (_, model, charge_breakdown, figures) => {
    const put = await setModel(model);
    expect([put.status, put.body]).toEqual([200, { minimumUsd: 0, ...model }]);
    const { body } = await backfill(await makeRun(claim('1', 'A'), claim('1', 'B'), claim('2', 'A')));
    expect(body).toMatchObject(figures);
    expect(body.charge_breakdown).toEqual(charge_breakdown);
  });

  it('a pricing model whose fields do not match its type is refused and changes nothing', async () => {
    await setModel({ pricingType: 'flat_per_run', pricePerRunUsd: 1 });
    for (const [model, field] of [
      [{ pricingType: 'per_claim' }, 'pricePerClaimUsd'],
      [{ pricingType: 'per_claim', pricePerClaimUsd: 1, blockSize: 3 }, 'blockSize'],
      [{ pricingType: 'npi_claim_block', pricePerBlockUsd: 1 }, 'blockSize'],
      [{ pricingType: 'npi_claim_block', blockSize: 0, pricePerBlockUsd: 1 }, 'blockSize'],
      [{ pricingType: 'flat_per_run', pricePerRunUsd: -1 }, 'pricePerRunUsd'],
      [{ pricingType: 'flat_per_run', pricePerRunUsd: 0.0000001 }, 'pricePerRunUsd'],
      [{ pricingType: 'hourly', pricePerRunUsd: 1 }, 'pricingType'],
    ] as const) {
      const { status, body } = await setModel(model);
      expect([status, body.code, body.errors[0].field]).toEqual([400, 'invalid_payload', field]);
    }
    const model = await tenant.as.admin.get(`${path}/${tenant.organizationId}`);
    expect(model.body).toEqual({ pricingType: 'flat_per_run', pricePerRunUsd: 1, minimumUsd: 0 });
  });

  it('a billing backfill that is not possible reports the reason and stores no billing record', async () => {
    const id = await makeRun(claim('1', 'A'));
    const without = await makeRun(null, { type: 'other', npi: '1' }, select(null));
    for (const [answer, status, code] of [
      [await backfill('no-uuid'), 400, 'invalid_payload'],
      [await backfill(id, { force: 'yes' }), 400, 'invalid_payload'],
      [await backfill(newId()), 404, 'job_not_found'],
      [await backfill(without, { create_default_model: true }), 404, 'metadata_not_found'],
      [await backfill(id), 404, 'pricing_model_missing'],
      [await tenant.as.admin.get(`${path}/${tenant.organizationId}`), 404, 'pricing_model_missing'],
    ] as const) {
      expect([answer.status, answer.body.code]).toEqual([status, code]);
    }
    for (const [client, status] of [
      [tenant.as.member, 403],
      [tenant.as.viewer, 403],
      [tenant.api, 403],
      [harness.http, 401],
    ] as const) {
      expect((await backfill(id, {}, client)).status).toBe(status);
    }
    expect(await readMetrics(id)).toEqual([]);
    expect(
      await queryRows('SELECT FROM billing_metric_step WHERE organization_id = $1', [tenant.organizationId]),
    ).toEqual([]);
  });

  it('concurrent backfills of a job create one billing record, which only a forced backfill replaces', async () => {
    const id = await makeRun(claim('1', 'A'));
    const answers = await Promise.all(Array.from({ length: 8 }, () => backfill(id, { create_default_model: true })));
    const statuses = answers.map(({ status, body }) => `${status} ${body.code ?? ''}`).sort();
    expect(statuses).toEqual(['200 ', ...Array<string>(7).fill('409 billing_record_exists')]);
    const first = answers.find(({ status }) => status === 200)!.body.metric_id;
    expect(await readMetrics(id)).toEqual([{ id: first }]);
    const [one, other] = await Promise.all([backfill(id, { force: true }), backfill(id, { force: true })]);
    for (const { status, body } of [one, other]) expect([status, body.replaced_existing]).toEqual([200, true]);
    const [record] = await readMetrics(id);
    expect([one.body.metric_id, other.body.metric_id]).toContainEqual((record as { id: string }).id);
    expect(await queryRows('SELECT FROM billing_metric_step WHERE metric_id = $1', [first])).toEqual([]);
    expect(
      await queryRows("SELECT FROM audit_entry WHERE action = 'client_pricing.backfill' AND target_id = $1", [id]),
    ).toHaveLength(3);
  });

  it('a billing backfill that waits for a change of the pricing model charges by the new model', async () => {
    const id = await makeRun(claim('1', 'A'));
    await setModel({ pricingType: 'per_claim', pricePerClaimUsd: 1 });
    const values = [tenant.organizationId];
    const [answer] = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM client_pricing_model WHERE organization_id = $1 FOR UPDATE', values),
      () => [backfill(id)],
      (tx) => tx.query('UPDATE client_pricing_model SET price_micros = 3000000 WHERE organization_id = $1', values),
    );
    expect([answer!.status, answer!.body.calculated_charge_usd]).toEqual([200, 3]);
  });

  it('an admin has access to the client pricing of their own organization, a super_admin to all of it', async () => {
    const id = await makeRun(claim('1', 'A'));
    const other = await harness.makeTenant();
    expect((await backfill(id, { create_default_model: true }, other.as.admin)).body.code).toBe('job_not_found');
    expect((await setModel({ pricingType: 'per_claim', pricePerClaimUsd: 1 }, other.as.admin)).status).toBe(404);
    expect((await other.as.admin.get(`${path}/${tenant.organizationId}`)).body.code).toBe('not_found');
    const created = await backfill(id, { create_default_model: true }, other.as.super_admin);
    expect([created.status, created.body.organization_id]).toEqual([200, tenant.organizationId]);
    expect((await setModel({ pricingType: 'per_claim', pricePerClaimUsd: 1 }, other.as.super_admin)).status).toBe(200);
    expect((await other.as.super_admin.get(`${path}/${newId()}`)).body.code).toBe('not_found');
    const steps = `${path}/metrics/${created.body.metric_id}/steps`;
    expect((await other.as.admin.get(steps)).status).toBe(404);
    expect((await other.as.super_admin.get(steps)).body.steps).toHaveLength(1);
    const listMetricIds = async (client: HttpClient, query: string) =>
      (await client.get(`${path}/metrics?${query}`)).body.metrics.map(
        ({ metric_id }: { metric_id: string }) => metric_id,
      );
    expect(await listMetricIds(other.as.admin, `jobId=${id}`)).toEqual([]);
    expect(await listMetricIds(other.as.admin, `organizationId=${tenant.organizationId}`)).toEqual([]);
    expect(await listMetricIds(tenant.as.admin, `jobId=${id}`)).toEqual([created.body.metric_id]);
    expect(await listMetricIds(other.as.super_admin, `jobId=${id}`)).toEqual([created.body.metric_id]);
  });

  it('billing records are listed by the organization’s days, with the pricing model that they were charged by', async () => {
    await tenant.as.admin.patch('/api/organization/settings', { timezone: 'Pacific/Auckland' });
    const id = await makeRun(claim('1', 'A'));
    const { body } = await backfill(id, { create_default_model: true });
    await setModel({ pricingType: 'per_claim', pricePerClaimUsd: 1 });
    // In Auckland, the organization’s time zone, this time is on 11 January.
    const at = '2026-01-10T11:30:00.000Z';
    const metricId = smallestIdAt(new Date(at));
    const owner = new Client({ connectionString: harness.databaseUrl });
    await owner.connect();
    await owner.query("SET session_replication_role = 'replica'");
    const values = [body.metric_id, metricId];
    await owner.query('UPDATE billing_metric SET id = $2, computed_at = $3 WHERE id = $1', [...values, at]);
    await owner.query('UPDATE billing_metric_step SET metric_id = $2 WHERE metric_id = $1', values);
    await owner.end();
    const listMetrics = (query: string) => tenant.as.admin.get(`${path}/metrics?${query}`);
    const { success: _, replaced_existing: __, ...figures } = body;
    expect((await listMetrics('from=2026-01-11&to=2026-01-11')).body).toEqual({
      metrics: [{ ...figures, metric_id: metricId, job_id: id, computed_from: 'claim_result', computed_at: at }],
      nextCursor: null,
    });
    expect((await listMetrics('to=2026-01-10')).body.metrics).toEqual([]);
    expect((await listMetrics('from=2026-01-12')).body.metrics).toEqual([]);
    for (const query of ['from=2026-02-31', 'from=2026-01-02&to=2026-01-01', 'jobId=7', 'to=2026-01-01T00:00:00Z']) {
      expect((await listMetrics(query)).status).toBe(400);
    }
  });

  it('the list of client pricing metrics contains each metric once over all its pages', async () => {
    const created: string[] = [];
    for (const name of ['1', '2'])
      created.unshift((await backfill(await makeRun(claim(name, 'A')), { create_default_model: true })).body.metric_id);
    const first = (await tenant.as.admin.get(`${path}/metrics?limit=1`)).body;
    const second = (await tenant.as.admin.get(`${path}/metrics?limit=1&cursor=${first.nextCursor}`)).body;
    expect([...first.metrics, ...second.metrics].map(({ metric_id: id }) => id)).toEqual(created);
  });

  it('a backfill reports organization_unresolved if the organization of its job does not exist', async () => {
    const id = await makeRun(claim('1', 'A'));
    // Foreign keys prevent this state, so the database owner disables them for this session.
    const owner = new Client({ connectionString: harness.databaseUrl });
    await owner.connect();
    await owner.query("SET session_replication_role = 'replica'");
    const foreign = newId();
    await owner.query('UPDATE job SET organization_id = $2 WHERE id = $1', [id, foreign]);
    await owner.end();
    const { status, body } = await backfill(id, {}, tenant.as.super_admin);
    expect([status, body.code]).toEqual([400, 'organization_unresolved']);
  });

  it('a billing backfill handles a job with many thousands of NPIs', async () => {
    const count = chooseSize('CLIENT_PRICING_NPIS', { short: 20_000, long: 100_000 });
    const id = await makeRun();
    await queryRows(
      `INSERT INTO job_step (job_id, step_order, organization_id, status, state_key, metadata)
       SELECT $1, n, $2, 'passed', 1, jsonb_build_object('type', 'claim_result', 'npi', n::text, 'claim_id', 'C')
       FROM generate_series(1, $3::int) n`,
      [id, tenant.organizationId, count],
    );
    const { status, body } = await backfill(id, { create_default_model: true });
    expect([status, body.npi_count, body.calculated_charge_usd]).toEqual([200, count, 25 * count]);
    expect(body.charge_breakdown.npis).toHaveLength(count);
    const listed = await tenant.as.admin.get(`${path}/metrics?jobId=${id}`);
    expect(listed.body.metrics[0].total_claims).toBe(count);
  });
});
