import { Client } from 'pg';
import { DatabaseModule } from '@muster/database';
import { purgeBatchClaims, readRoi } from '@muster/pilot';
import { purgeStepsAndClaims } from '@muster/jobs';
import { purgeTimeline } from '@muster/timeline';
import { purgeUsage } from '@muster/pricing';
import { BaseConfig, newId, Round } from '@muster/platform';
import { type Harness, makeJob, makeOrganization, readPlans, startHarness } from '@muster/testing';

const now = new Date('2026-06-15T12:00:00Z');
const getDateDaysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000);

describe('retention', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    const owner = new Client({ connectionString: harness.databaseUrl });
    await owner.connect();
    await owner.query(
      `CREATE TABLE timeline_entry_2026 PARTITION OF timeline_entry FOR VALUES FROM ('2026-01-01Z') TO ('2026-07-01Z')`,
    );
    await owner.end();
  });
  afterAll(() => harness.close());

  const querySql = <T extends object = any>(text: string, values: unknown[] = []) =>
    harness.db.query<T & object>('system', text, values);
  const purgeAll = async () => {
    await purgeTimeline(harness.db, new Round('test'), now);
    await purgeStepsAndClaims(harness.db, new Round('test'), now);
    await purgeBatchClaims(harness.db, new Round('test'), now);
    await purgeUsage(harness.db, new Round('test'), now);
  };

  /** Inserts a run that ended a number of days ago, with a row of every kind. */
  async function insertRun(
    organizationId: string,
    days: number,
    seq: number,
    existing?: { agentId: string; workflowId: string },
  ) {
    const at = getDateDaysAgo(days);
    const run = {
      organizationId,
      status: 'completed' as const,
      startedAt: at,
      finishedAt: at,
      claimsAttempted: 1,
      ...existing,
    };
    const { id, agentId, workflowId } = await makeJob(harness.db, run);
    const row = [id, organizationId, at];
    await querySql(
      `INSERT INTO timeline_head (agent_id, organization_id, last_seq, logs_since, others_since)
       VALUES ($1, $2, 100, $3, $3) ON CONFLICT DO NOTHING`,
      [agentId, organizationId, at],
    );
    for (const [kind, offset] of [
      ['execution', 0],
      ['lifecycle', 1],
    ] as const) {
      await querySql(
        `INSERT INTO timeline_entry (agent_id, seq, organization_id, kind, message, job_id, recorded_at)
         VALUES ($1, $2, $3, $4, 'x', $5, $6)`,
        [agentId, seq * 2 + offset, organizationId, kind, id, at],
      );
    }
    await querySql(
      `INSERT INTO job_step (job_id, step_order, organization_id, status, state_key) VALUES ($1, 1, $2, 'passed', 1)`,
      [id, organizationId],
    );
    await querySql(
      `INSERT INTO claim_outcome (job_id, claim_id, organization_id, outcome) VALUES ($1, 'C', $2, 'failed')`,
      [id, organizationId],
    );
    await querySql(
      `WITH event AS (
         INSERT INTO usage_event (job_id, kind, organization_id, month, at)
         SELECT $1, 'run', $2, date_trunc('month', $3::timestamptz, 'UTC')::date, $3 RETURNING month)
       INSERT INTO usage_counter AS c (organization_id, month, runs) SELECT $2, month, 1 FROM event
       ON CONFLICT (organization_id, month) DO UPDATE SET runs = c.runs + 1`,
      row,
    );
    await querySql(
      `INSERT INTO run_cost_component (job_id, position, organization_id, workflow_id, agent_id, finished_at, kind,
         quantity, unit, unit_price_usd, amount_micros, unpriced)
       VALUES ($1, 1, $2, $4, $5, $3, 'compute', 1, 'hour', 1, 7, false)`,
      [...row, workflowId, agentId],
    );
    const batch = newId();
    await querySql(
      `INSERT INTO pilot_batch (id, organization_id, batch_id, occurred_at, claims_attempted, claims_eob_uploaded)
       VALUES ($1, $2, $4, $3, 2, 2)`,
      [batch, organizationId, at, batch],
    );
    await querySql(
      `INSERT INTO pilot_claim_result (organization_id, id, pilot_batch_id, claim_index, claim_id, outcome, processing_micros)
       SELECT $1, $2 || ':claim:' || n, $2::uuid, n, 'C', 'eob_uploaded', n * 1000000 FROM generate_series(1, 2) n`,
      [organizationId, batch],
    );
    await querySql(
      `INSERT INTO pilot_roi_metric (pilot_batch_id, organization_id, processing_micros) VALUES ($1, $2, '{1000000,2000000}')`,
      [batch, organizationId],
    );
    return { id, agentId, workflowId };
  }

  const countRemainingRows = async (organizationId: string) => {
    const counted: Record<string, number> = {};
    for (const [name, from] of [
      ['logs', `timeline_entry WHERE kind = 'execution' AND`],
      ['timeline', `timeline_entry WHERE kind <> 'execution' AND`],
      ['steps', 'job_step WHERE'],
      ['claims', 'claim_outcome WHERE'],
      ['batchClaims', 'pilot_claim_result WHERE'],
      ['events', 'usage_event WHERE'],
      ['counters', 'usage_counter WHERE'],
      ['costs', 'run_cost_component WHERE'],
      ['jobs', 'job WHERE'],
      ['batches', 'pilot_batch WHERE'],
    ]) {
      const [row] = await querySql(`SELECT count(*)::int AS n FROM ${from} organization_id = $1`, [organizationId]);
      counted[name!] = row!.n;
    }
    return counted;
  };

  async function insertTwoRuns(settings: string, ages: [older: number, newer: number] = [100, 3]) {
    const { id } = await makeOrganization(harness.db);
    if (settings) await querySql(`UPDATE organization_settings SET ${settings} WHERE organization_id = $1`, [id]);
    const { agentId, workflowId } = await insertRun(id, ages[0], 1);
    await insertRun(id, ages[1], 2, { agentId, workflowId });
    return id;
  }
  const all = {
    logs: 2,
    timeline: 2,
    steps: 2,
    claims: 2,
    batchClaims: 4,
    events: 2,
    counters: 2,
    costs: 2,
    jobs: 2,
    batches: 2,
  };

  it('the default retention deletes only logs and timeline entries, after 90 days', async () => {
    const [usual, forEver] = [
      await insertTwoRuns(''),
      await insertTwoRuns('log_retention_days = NULL, timeline_retention_days = NULL'),
    ];
    await purgeAll();
    expect(await countRemainingRows(usual)).toEqual({ ...all, logs: 1, timeline: 1 });
    expect(await countRemainingRows(forEver)).toEqual(all);
  });

  it.each([
    ['log', { logs: 1 }],
    ['timeline', { timeline: 1 }],
    ['step', { steps: 1 }],
    ['claim', { claims: 1, batchClaims: 2 }],
    ['usage', { events: 1, counters: 1 }],
    ['cost', { costs: 1 }],
  ])(
    'the %s retention period applies only to its own kind of rows and only to its organization',
    async (name, gone) => {
      const unlimited = 'log_retention_days = NULL, timeline_retention_days = NULL';
      const other = await insertTwoRuns(unlimited);
      const id = await insertTwoRuns(unlimited);
      await querySql(`UPDATE organization_settings SET ${name}_retention_days = 30 WHERE organization_id = $1`, [id]);
      await purgeAll();
      expect(await countRemainingRows(id)).toEqual({ ...all, ...gone });
      expect(await countRemainingRows(other)).toEqual(all);
    },
  );

  it('a retention of one day keeps rows that are exactly one day old, and deletes rows that are a millisecond older', async () => {
    const days = ['log', 'timeline', 'step', 'claim', 'usage', 'cost'].map((kind) => `${kind}_retention_days = 1`);
    const id = await insertTwoRuns(days.join(', '), [1 + 1 / 86_400_000, 1]);
    await purgeAll();
    // Usage is deleted by whole months, and the month of both runs has not ended.
    const gone = { logs: 1, timeline: 1, steps: 1, claims: 1, batchClaims: 2, costs: 1 };
    expect(await countRemainingRows(id)).toEqual({ ...all, counters: 1, ...gone });
  });

  it('retention deletes thousands of rows in steps without changing a figure of the return on investment', async () => {
    const id = await insertTwoRuns('claim_retention_days = 30');
    const [{ agentId }] = await querySql('SELECT agent_id FROM job WHERE organization_id = $1 LIMIT 1', [id]);
    await querySql(
      `INSERT INTO timeline_entry (agent_id, seq, organization_id, kind, message, recorded_at)
       SELECT $1, 1000 + n, $2, 'execution', 'x', $3 FROM generate_series(1, 2500) n`,
      [agentId, id, getDateDaysAgo(95)],
    );
    const readRoiFrom = (source?: 'computed') =>
      readRoi(harness.db, id, { query: { from: '2026-01-01', to: '2026-06-15', source }, now });
    const before = await readRoiFrom('computed');
    expect(before.claims.attempted).toBe(4);
    await purgeAll();
    expect(await countRemainingRows(id)).toMatchObject({ logs: 1, batchClaims: 2 });
    expect(await readRoiFrom('computed')).toEqual(before);
    expect(await readRoiFrom()).toEqual({ ...before, source: 'rollup' });
  });

  it('retention finds expired rows by an index without reading retained rows', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    await querySql('UPDATE organization_settings SET log_retention_days = 30 WHERE organization_id = $1', [
      organizationId,
    ]);
    const { agentId } = await insertRun(organizationId, 80, 1);
    await querySql(
      `INSERT INTO timeline_entry (agent_id, seq, organization_id, kind, message, recorded_at)
       SELECT $1, 10 + n, $2, CASE WHEN n % 20 = 0 THEN 'execution' ELSE 'status' END, 'x',
              $3::timestamptz + n * interval '20 minutes'
       FROM generate_series(1, 5000) n`,
      [agentId, organizationId, getDateDaysAgo(79)],
    );
    const dropPartitionsAt = async (at: Date) => {
      const countTimelineRows = () =>
        countRemainingRows(organizationId).then(({ logs, timeline }) => logs! + timeline!);
      const plans = await readPlans(harness.databaseUrl, () => purgeTimeline(harness.db, new Round('test'), at));
      return { left: await countTimelineRows(), looked: plans.reduce((sum, plan) => sum + plan.looked, 0) };
    };
    const first = await dropPartitionsAt(now);
    expect(first.left).toBeLessThan(5002);
    // A second round at the same time reads only the settings of each organization, because no further row has expired.
    const [{ count }] = await querySql('SELECT count(*)::int AS count FROM organization_settings');
    const again = await dropPartitionsAt(now);
    expect(again.left).toBe(first.left);
    expect(again.looked).toBeLessThanOrEqual(2 * count);
    // A round ten days later reads the rows that have expired since, and the rows that may expire next.
    const later = await dropPartitionsAt(new Date(now.getTime() + 10 * 86_400_000));
    expect(first.left - later.left).toBeGreaterThan(30);
    expect(later.looked).toBeLessThan(2000);
  });
});
