import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Client } from 'pg';
import { type BenchStack, createDatabase, runOnBenchStack } from './bench-stack';
import { makeBenchTenant } from './bench-tenant';
import { Child } from './child';
import { formatMilliseconds } from './print-report';
import { computeMedian, computePercentile } from './rounds';
import type { RoiAnswer } from './roi-subject';
import { chooseSize } from './short';

// The return on investment of a year with 1,000,000 claims, compared with a year with 10,000; and computed from raw
// rows, compared with the same figures by plain SQL.

const targets = { rollup: 2, raw: 1.3 };
const rounds = chooseSize(5, 1);
const reads = chooseSize(60, 3);
const sizes = {
  few: { batches: chooseSize(1000, 10), claims: 10 },
  many: { batches: chooseSize(10_000, 20), claims: chooseSize(100, 10) },
};

void runOnBenchStack(async (stack) => {
  const few = await startSubject(stack, sizes.few);
  const many = await startSubject(stack, sizes.many);
  const measured = { few: [] as RoiAnswer[], many: [] as RoiAnswer[] };
  try {
    for (let round = 0; round <= rounds; round += 1) {
      const [below, above] = [
        await few.askQuestion<RoiAnswer>({ reads }),
        await many.askQuestion<RoiAnswer>({ reads }),
      ];
      if (round === 0) continue;
      measured.few.push(below);
      measured.many.push(above);
    }
    const ratios = measured.many.map(
      (above, at) => computeMedian(above.rollupMs) / computeMedian(measured.few[at]!.rollupMs),
    );
    const ratio = computeMedian(ratios);
    console.log(
      `roi: a year of ${describeSize(sizes.many)} takes ${ratio.toFixed(2)} times one of ${describeSize(sizes.few)} ` +
        `(median of ${rounds} rounds, ${formatSpread(ratios)}); target ${targets.rollup}: ${ratio <= targets.rollup ? 'met' : 'not met'}`,
    );
    const computePercentileOfAll = (answers: RoiAnswer[], percent: number) =>
      computePercentile(
        answers.flatMap(({ rollupMs }) => rollupMs),
        percent,
      );
    for (const percent of [50, 99]) {
      const [above, below] = [
        computePercentileOfAll(measured.many, percent),
        computePercentileOfAll(measured.few, percent),
      ];
      console.log(
        `  p${percent}: ${formatMilliseconds(above)} to ${formatMilliseconds(below)} (${(above / below).toFixed(2)} times)`,
      );
    }
    const raw = measured.many.map(({ rawMs, plainMs }) => rawMs / plainMs);
    console.log(
      `roi from raw rows: ${computeMedian(raw).toFixed(2)} times the plain SQL (${formatSpread(raw)}); target ${targets.raw}: ` +
        `${computeMedian(raw) <= targets.raw ? 'met' : 'not met'}`,
    );
    const computeMedianOfField = (key: 'rawMs' | 'plainMs') =>
      formatMilliseconds(computeMedian(measured.many.map((each) => each[key])));
    console.log(`  ${computeMedianOfField('rawMs')} to ${computeMedianOfField('plainMs')}`);
    const [{ rebuildMs }] = measured.many as [RoiAnswer];
    console.log(`  all of its rollups rebuilt in ${formatMilliseconds(rebuildMs)}\n`);
  } finally {
    await Promise.all([few.stop(), many.stop()]);
  }
});

function describeSize({ batches, claims }: typeof sizes.few): string {
  return `${(batches * claims).toLocaleString('en')} claims`;
}

function formatSpread(ratios: number[]): string {
  return `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
}

async function startSubject(stack: BenchStack, size: { batches: number; claims: number }): Promise<Child> {
  const databaseUrl = await createDatabase(stack, { migrated: true });
  const organizationId = await insertYear({ ...stack, databaseUrl }, size);
  return Child.start(join(__dirname, 'roi-subject.js'), {
    DATABASE_URL: databaseUrl,
    REDIS_URL: stack.redisUrl,
    REDIS_PREFIX: `roi${size.batches}`,
    PUBLIC_APP_URL: 'http://muster.bench',
    MASTER_KEYS: `bench:${randomBytes(32).toString('base64')}`,
    LOG_LEVEL: 'error',
    BENCH_ORGANIZATION: organizationId,
  });
}

/**
 * Creates a year of batches, each with a separate job. Processing times have millisecond precision and are around 30 s.
 */
async function insertYear(
  stack: BenchStack,
  { batches, claims }: { batches: number; claims: number },
): Promise<string> {
  const { organizationId, workflowId, agentIds } = await makeBenchTenant(stack, 20);
  const client = new Client({ connectionString: stack.databaseUrl });
  await client.connect();
  await client.query(`UPDATE organization_settings SET timezone = 'America/Chicago'`);
  await client.query(
    `WITH run AS (
       INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status, total_cost_micros)
       SELECT gen_random_uuid(), $1, $2, 1, ($3::uuid[])[1 + n % 20], 'completed', n % 100000
       FROM generate_series(1, $4) n RETURNING id),
     batch AS (
       INSERT INTO pilot_batch (id, organization_id, batch_id, job_id, named_job_id, workflow_id, occurred_at,
         claims_attempted, claims_eob_uploaded, claims_no_eob_found, claims_failed)
       SELECT gen_random_uuid(), $1, 'batch ' || row_number() OVER (), id, id, $2,
         timestamptz '2025-01-01T06:00:00Z' + random() * interval '365 days', $5, 0, 0, 0 FROM run RETURNING id)
     INSERT INTO pilot_claim_result (organization_id, id, pilot_batch_id, claim_index, claim_id, outcome, processing_micros)
     SELECT $1, batch.id || ':claim:' || n, batch.id, n, 'C-' || n,
       (ARRAY['eob_uploaded', 'eob_uploaded', 'no_eob_found', 'failed'])[1 + floor(random() * 4)::int],
       floor(30000 * exp((random() + random() + random() - 1.5) * 1.2))::bigint * 1000
     FROM batch, generate_series(0, $5 - 1) n`,
    [organizationId, workflowId, agentIds, batches, claims],
  );
  await client.query(
    `UPDATE pilot_batch b SET claims_eob_uploaded = c.eob, claims_no_eob_found = c.none, claims_failed = c.failed
     FROM (SELECT pilot_batch_id, count(*) FILTER (WHERE outcome = 'eob_uploaded') AS eob,
             count(*) FILTER (WHERE outcome = 'no_eob_found') AS none, count(*) FILTER (WHERE outcome = 'failed') AS failed
           FROM pilot_claim_result GROUP BY 1) c WHERE c.pilot_batch_id = b.id`,
  );
  await client.query(
    `INSERT INTO pilot_roi_metric (pilot_batch_id, organization_id, processing_micros)
     SELECT pilot_batch_id, organization_id, array_agg(processing_micros ORDER BY processing_micros)
     FROM pilot_claim_result GROUP BY 1, 2`,
  );
  for (const table of ['pilot_batch', 'pilot_claim_result', 'job']) await client.query(`VACUUM ANALYZE ${table}`);
  await client.end();
  return organizationId;
}
