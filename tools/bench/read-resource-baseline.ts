import { fastify } from 'fastify';
import { Pool } from 'pg';

// The baseline of a read over HTTP: no ids, no authentication, no rate limit, no scope, no log.

const pool = new Pool({
  connectionString: process.env['DATABASE_URL'],
  max: Number(process.env['DATABASE_POOL_SIZE']),
});
const app = fastify();

const text = `
  SELECT vm_auto_wake_on_job AS "vmAutoWakeOnJob", auto_stop_enabled AS "autoStopEnabled",
    idle_stop_minutes AS "idleStopMinutes", max_concurrent_runs AS "maxConcurrentRuns",
    monthly_run_limit AS "monthlyRunLimit", monthly_spend_limit_micros AS "monthlySpendLimitUsd",
    labor_micros_per_hour AS "laborRateUsdPerHour", minutes_saved_per_claim AS "minutesSavedPerClaim",
    compute_micros_per_hour AS "hourlyComputeUsd", timezone
  FROM organization_settings WHERE organization_id = $1`;

void (async () => {
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM organization');
  const values = [rows[0]!.id];
  app.get('/api/organization/settings', async () => {
    const result = await pool.query({ name: 'read_settings', text, values });
    return result.rows[0] as object;
  });
  process.send!({ url: await app.listen({ port: 0, host: '127.0.0.1' }) });
})();

process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
