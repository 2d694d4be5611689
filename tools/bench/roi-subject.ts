import { Database, DatabaseModule } from '@muster/database';
import { readRoi, rebuildRoiRollups } from '@muster/pilot';
import { BaseConfig, createApp, loadConfig } from '@muster/platform';
import { Client } from 'pg';

// Computes the figures of a year as the route does, and with plain SQL.

export interface RoiQuestion {
  reads: number;
}

export interface RoiAnswer {
  rollupMs: number[];
  rawMs: number;
  plainMs: number;
  rebuildMs: number;
}

const query = { from: '2025-01-01', to: '2025-12-31' };
const now = new Date('2026-01-01T12:00:00Z');

void (async () => {
  const { nest } = await createApp({
    name: 'gateway',
    configs: [loadConfig(BaseConfig, process.env)],
    modules: [DatabaseModule],
  });
  await nest.init();
  const database = nest.get(Database);
  const organizationId = process.env['BENCH_ORGANIZATION']!;
  const plain = new Client({ connectionString: process.env['DATABASE_URL'] });
  await plain.connect();
  const { ms: rebuildMs } = await measureMs(() => rebuildRoiRollups(database, organizationId));
  await plain.query('VACUUM ANALYZE pilot_roi_day, pilot_roi_times, pilot_roi_cost');
  process.on('message', ({ reads }: RoiQuestion) => {
    void measureReads(database, plain, organizationId, reads).then((answer) => process.send!({ ...answer, rebuildMs }));
  });
  process.send!({});
})();

async function measureReads(database: Database, plain: Client, organizationId: string, reads: number) {
  const rollupMs: number[] = [];
  const readRoiFrom = (source?: 'computed') => readRoi(database, organizationId, { query: { ...query, source }, now });
  for (let at = 0; at < reads; at += 1) {
    const { ms, result } = await measureMs(() => readRoiFrom());
    if (result.source !== 'rollup') throw new Error('the figures were not read from the rollups');
    rollupMs.push(ms);
  }
  const { ms: plainMs } = await measureMs(() => sumPlainly(plain, organizationId));
  const { ms: rawMs, result: raw } = await measureMs(() => readRoiFrom('computed'));
  const rollup = await readRoiFrom();
  if (JSON.stringify({ ...raw, source: '' }) !== JSON.stringify({ ...rollup, source: '' })) {
    throw new Error('the two sources differ');
  }
  return { rollupMs, rawMs, plainMs };
}

/** Plain SQL for the same figures: the days, the percentiles and the cost of the jobs, with one statement each. */
async function sumPlainly(client: Client, organizationId: string): Promise<void> {
  const values = [organizationId, '2025-01-01T06:00:00Z', '2026-01-01T06:00:00Z'];
  const claims = `pilot_batch b JOIN pilot_claim_result c ON c.pilot_batch_id = b.id
    WHERE b.organization_id = $1 AND b.occurred_at >= $2 AND b.occurred_at < $3`;
  await client.query(
    `SELECT (b.occurred_at AT TIME ZONE 'America/Chicago')::date AS day, count(DISTINCT b.id), count(*),
            count(*) FILTER (WHERE c.outcome = 'eob_uploaded'), count(*) FILTER (WHERE c.outcome = 'no_eob_found'),
            count(*) FILTER (WHERE c.outcome = 'failed'), sum(c.processing_micros)
     FROM ${claims} GROUP BY 1`,
    values,
  );
  await client.query(
    `SELECT percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY c.processing_micros) FROM ${claims}`,
    values,
  );
  await client.query(
    `SELECT sum(total_cost_micros) FROM job WHERE id IN (
       SELECT job_id FROM pilot_batch b WHERE b.organization_id = $1 AND b.occurred_at >= $2 AND b.occurred_at < $3)`,
    values,
  );
}

async function measureMs<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const began = performance.now();
  const result = await work();
  return { ms: performance.now() - began, result };
}
