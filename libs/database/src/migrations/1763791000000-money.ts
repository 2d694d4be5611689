import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/**
 * Money is stored in whole micro-dollars. Floating-point amounts are rounded once, half to even. Each component of a
 * run's cost is rounded, and the total is the sum of the components. The booked amounts of a run add up to its total,
 * and each counter is the sum of the booked amounts. A counter that differed from that sum before keeps the difference,
 * so that it stays visible.
 */
export class Money1763791000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(rounding);
    await runner.query(settingsUp);
    await runner.query(jobsUp);
    await runner.query(componentTable);
    await isolateTenantsOfTable(runner, 'run_cost_component', { tenantColumn: 'organization_id', app: 'SELECT' });
    await runner.query(costsUp);
    await runner.query(usageUp);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(usageDown);
    await runner.query(costsDown);
    await runner.query(jobsDown);
    await runner.query(settingsDown);
  }
}

// Converts doubles by way of text, because a direct cast to numeric keeps only fifteen digits.
const rounding = `
  CREATE FUNCTION pg_temp.whole(exact numeric) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT (floor(exact) + CASE WHEN exact - floor(exact) > 0.5 THEN 1
      WHEN exact - floor(exact) = 0.5 THEN mod(floor(exact), 2) * sign(mod(floor(exact), 2)) ELSE 0 END)::bigint $$;
  CREATE FUNCTION pg_temp.micros(usd double precision) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT pg_temp.whole(usd::text::numeric * 1000000) $$`;

const microsToUsdSql = (micros: string) => `(${micros} / 1000000.0)::double precision`;

const settingsUp = `
  ALTER TABLE organization_settings
    ALTER labor_rate_usd_per_hour DROP DEFAULT, ALTER hourly_compute_usd DROP DEFAULT,
    ALTER monthly_spend_limit_usd TYPE bigint USING pg_temp.micros(monthly_spend_limit_usd),
    ALTER labor_rate_usd_per_hour TYPE bigint USING pg_temp.micros(labor_rate_usd_per_hour),
    ALTER hourly_compute_usd TYPE bigint USING pg_temp.micros(hourly_compute_usd);
  ALTER TABLE organization_settings RENAME monthly_spend_limit_usd TO monthly_spend_limit_micros;
  ALTER TABLE organization_settings RENAME labor_rate_usd_per_hour TO labor_micros_per_hour;
  ALTER TABLE organization_settings RENAME hourly_compute_usd TO compute_micros_per_hour;
  ALTER TABLE organization_settings
    ALTER labor_micros_per_hour SET DEFAULT 28000000, ALTER compute_micros_per_hour SET DEFAULT 120000;
  ALTER TABLE agent ADD compute_micros_per_hour bigint`;

const settingsDown = `
  ALTER TABLE agent DROP compute_micros_per_hour;
  ALTER TABLE organization_settings
    ALTER labor_micros_per_hour DROP DEFAULT, ALTER compute_micros_per_hour DROP DEFAULT,
    ALTER monthly_spend_limit_micros TYPE double precision USING ${microsToUsdSql('monthly_spend_limit_micros')},
    ALTER labor_micros_per_hour TYPE double precision USING ${microsToUsdSql('labor_micros_per_hour')},
    ALTER compute_micros_per_hour TYPE double precision USING ${microsToUsdSql('compute_micros_per_hour')};
  ALTER TABLE organization_settings RENAME monthly_spend_limit_micros TO monthly_spend_limit_usd;
  ALTER TABLE organization_settings RENAME labor_micros_per_hour TO labor_rate_usd_per_hour;
  ALTER TABLE organization_settings RENAME compute_micros_per_hour TO hourly_compute_usd;
  ALTER TABLE organization_settings
    ALTER labor_rate_usd_per_hour SET DEFAULT 28, ALTER hourly_compute_usd SET DEFAULT 0.12`;

// The cost that a worker reported was stored in the job's total until that total was computed, and in run_cost
// afterwards.
const jobsUp = `
  ALTER TABLE job ALTER total_cost_usd TYPE bigint USING pg_temp.micros(total_cost_usd);
  ALTER TABLE job RENAME total_cost_usd TO total_cost_micros;
  ALTER TABLE job ADD reported_cost_micros bigint;
  UPDATE job SET reported_cost_micros = total_cost_micros
  WHERE total_cost_micros IS NOT NULL AND NOT EXISTS (SELECT FROM run_cost r WHERE r.job_id = job.id);
  UPDATE job SET reported_cost_micros = pg_temp.micros(r.reported_usd)
  FROM run_cost r WHERE r.job_id = job.id AND r.reported_usd IS NOT NULL;
  ALTER TABLE ai_usage ADD reported_at timestamptz;
  UPDATE ai_usage u SET reported_at = COALESCE(j.finished_at, j.started_at, j.queued_at) FROM job j WHERE j.id = u.job_id;
  ALTER TABLE ai_usage
    ALTER reported_at SET DEFAULT now(), ALTER reported_at SET NOT NULL,
    ALTER cost_usd DROP DEFAULT, ALTER cost_usd DROP NOT NULL,
    ALTER cost_usd TYPE bigint USING pg_temp.micros(cost_usd);
  ALTER TABLE ai_usage RENAME cost_usd TO cost_micros`;

const jobsDown = `
  ALTER TABLE ai_usage RENAME cost_micros TO cost_usd;
  ALTER TABLE ai_usage DROP reported_at,
    ALTER cost_usd TYPE double precision USING COALESCE(${microsToUsdSql('cost_usd')}, 0),
    ALTER cost_usd SET DEFAULT 0, ALTER cost_usd SET NOT NULL;
  ALTER TABLE job DROP reported_cost_micros,
    ALTER total_cost_micros TYPE double precision USING ${microsToUsdSql('total_cost_micros')};
  ALTER TABLE job RENAME total_cost_micros TO total_cost_usd`;

const componentTable = `
  CREATE TABLE run_cost_component (
    job_id uuid NOT NULL,
    position integer NOT NULL,
    organization_id uuid NOT NULL
      CONSTRAINT run_cost_component_organization_fk REFERENCES organization ON DELETE CASCADE,
    workflow_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    schedule_id uuid,
    finished_at timestamptz,
    kind text NOT NULL CONSTRAINT run_cost_component_kind_check CHECK (kind IN ('ai', 'compute', 'reported')),
    provider text,
    model text,
    quantity numeric NOT NULL,
    unit text NOT NULL,
    unit_price_usd numeric NOT NULL,
    amount_micros bigint NOT NULL,
    unpriced boolean NOT NULL DEFAULT false,
    PRIMARY KEY (job_id, position)
  );
  CREATE INDEX run_cost_component_time_idx ON run_cost_component (organization_id, finished_at)`;

const costsUp = `
  INSERT INTO run_cost_component (job_id, position, organization_id, workflow_id, agent_id, schedule_id, finished_at,
    kind, provider, model, quantity, unit, unit_price_usd, amount_micros)
  SELECT j.id, row_number() OVER (PARTITION BY j.id ORDER BY c.kind, c.provider, c.model), j.organization_id,
         j.workflow_id, j.agent_id, j.schedule_id, CASE WHEN j.started_at IS NOT NULL THEN j.finished_at END,
         c.kind, c.provider, c.model, c.quantity, c.unit, COALESCE(c.unit_price, c.amount / 1000000.0), c.amount
  FROM run_cost r JOIN job j ON j.id = r.job_id CROSS JOIN LATERAL (
    SELECT 'ai' AS kind, provider, model, 1::numeric AS quantity, 'reported' AS unit, NULL::numeric AS unit_price,
           sum(cost_micros)::bigint AS amount
    FROM ai_usage u WHERE u.job_id = r.job_id GROUP BY provider, model
    UNION ALL
    SELECT 'compute', NULL, NULL, round(r.run_seconds::text::numeric / 3600, 9), 'hour',
           r.hourly_compute_usd::text::numeric, pg_temp.micros(r.compute_usd)
    WHERE j.started_at IS NOT NULL) c;
  INSERT INTO run_cost_component (job_id, position, organization_id, workflow_id, agent_id, schedule_id, finished_at,
    kind, quantity, unit, unit_price_usd, amount_micros)
  SELECT j.id, COALESCE(c.components, 0) + 1, j.organization_id, j.workflow_id, j.agent_id, j.schedule_id,
         CASE WHEN j.started_at IS NOT NULL THEN j.finished_at END, 'reported', 1, 'reported',
         (j.reported_cost_micros - COALESCE(c.amount, 0)) / 1000000.0, j.reported_cost_micros - COALESCE(c.amount, 0)
  FROM run_cost r JOIN job j ON j.id = r.job_id CROSS JOIN LATERAL (
    SELECT count(*) AS components, sum(amount_micros) AS amount FROM run_cost_component c WHERE c.job_id = r.job_id) c
  WHERE j.reported_cost_micros > COALESCE(c.amount, 0);
  ALTER TABLE run_cost
    ADD compute_micros_per_hour bigint, ADD compute_micros bigint NOT NULL DEFAULT 0,
    ADD ai_micros bigint NOT NULL DEFAULT 0, ADD reported_micros bigint NOT NULL DEFAULT 0,
    ADD total_micros bigint NOT NULL DEFAULT 0, ADD prices jsonb NOT NULL DEFAULT '[]';
  UPDATE run_cost r SET compute_micros_per_hour = pg_temp.micros(r.hourly_compute_usd), compute_micros = c.compute,
    ai_micros = c.ai, reported_micros = c.reported, total_micros = c.compute + c.ai + c.reported
  FROM (SELECT job_id, COALESCE(sum(amount_micros) FILTER (WHERE kind = 'compute'), 0) AS compute,
          COALESCE(sum(amount_micros) FILTER (WHERE kind = 'ai'), 0) AS ai,
          COALESCE(sum(amount_micros) FILTER (WHERE kind = 'reported'), 0) AS reported
        FROM run_cost_component GROUP BY job_id) c WHERE c.job_id = r.job_id;
  UPDATE run_cost SET compute_micros_per_hour = pg_temp.micros(hourly_compute_usd) WHERE compute_micros_per_hour IS NULL;
  UPDATE job SET total_cost_micros = r.total_micros FROM run_cost r WHERE r.job_id = job.id;
  ALTER TABLE run_cost
    DROP run_seconds, DROP hourly_compute_usd, DROP compute_usd, DROP ai_usd, DROP reported_usd, DROP total_usd,
    ALTER compute_micros_per_hour SET NOT NULL, ALTER compute_micros DROP DEFAULT, ALTER ai_micros DROP DEFAULT,
    ALTER reported_micros DROP DEFAULT, ALTER total_micros DROP DEFAULT,
    ADD CONSTRAINT run_cost_total_check CHECK (total_micros = compute_micros + ai_micros + reported_micros)`;

const costsDown = `
  ALTER TABLE run_cost ADD run_seconds double precision, ADD hourly_compute_usd double precision,
    ADD compute_usd double precision, ADD ai_usd double precision, ADD reported_usd double precision,
    ADD total_usd double precision;
  UPDATE run_cost r SET run_seconds = COALESCE(GREATEST(EXTRACT(epoch FROM j.finished_at - j.started_at), 0), 0),
    hourly_compute_usd = ${microsToUsdSql('r.compute_micros_per_hour')}, compute_usd = ${microsToUsdSql('r.compute_micros')},
    ai_usd = ${microsToUsdSql('r.ai_micros')}, reported_usd = ${microsToUsdSql('j.reported_cost_micros')}, total_usd = ${microsToUsdSql('r.total_micros')}
  FROM job j WHERE j.id = r.job_id;
  ALTER TABLE run_cost DROP CONSTRAINT run_cost_total_check,
    DROP compute_micros_per_hour, DROP compute_micros, DROP ai_micros, DROP reported_micros, DROP total_micros,
    DROP prices, ALTER run_seconds SET NOT NULL, ALTER hourly_compute_usd SET NOT NULL,
    ALTER compute_usd SET NOT NULL, ALTER ai_usd SET NOT NULL, ALTER total_usd SET NOT NULL;
  DROP TABLE run_cost_component`;

const usageUp = `
  ALTER TABLE usage_event ADD run_ms bigint NOT NULL DEFAULT 0, ADD spend_micros bigint NOT NULL DEFAULT 0;
  -- Rounded as sums: what is booked for a run adds up to its total, whatever it was corrected by.
  UPDATE usage_event e SET run_ms = pg_temp.whole(e.run_seconds::text::numeric * 1000), spend_micros = b.amount
  FROM (
    SELECT job_id, kind, revision, until - lag(until, 1, 0::bigint) OVER (PARTITION BY job_id, kind ORDER BY revision) AS amount
    FROM (
      SELECT s.*, CASE WHEN s.kind = 'spend' AND s.last AND r.job_id IS NOT NULL THEN r.total_micros
        ELSE pg_temp.whole(s.sum * 1000000) END AS until
      FROM (
        SELECT job_id, kind, revision, sum(spend_usd::text::numeric) OVER w AS sum,
               revision = max(revision) OVER (PARTITION BY job_id, kind) AS last
        FROM usage_event WINDOW w AS (PARTITION BY job_id, kind ORDER BY revision)) s
      LEFT JOIN run_cost r ON r.job_id = s.job_id) t) b
  WHERE b.job_id = e.job_id AND b.kind = e.kind AND b.revision = e.revision;
  ALTER TABLE usage_counter ADD run_ms bigint NOT NULL DEFAULT 0, ADD spend_micros bigint NOT NULL DEFAULT 0;
  UPDATE usage_counter c SET
    run_ms = CASE WHEN abs(c.run_seconds - s.run_seconds) <= 0.001 THEN s.run_ms
      ELSE pg_temp.whole(c.run_seconds::text::numeric * 1000) END,
    spend_micros = CASE WHEN abs(c.spend_usd - s.spend_usd) <= 0.000001 THEN s.spend_micros
      ELSE pg_temp.micros(c.spend_usd) END
  FROM (
    SELECT k.organization_id, k.month, COALESCE(sum(e.run_seconds), 0) AS run_seconds,
           COALESCE(sum(e.spend_usd), 0) AS spend_usd, COALESCE(sum(e.run_ms), 0) AS run_ms,
           COALESCE(sum(e.spend_micros), 0) AS spend_micros
    FROM usage_counter k LEFT JOIN usage_event e ON e.organization_id = k.organization_id AND e.month = k.month
    GROUP BY k.organization_id, k.month) s
  WHERE s.organization_id = c.organization_id AND s.month = c.month;
  ALTER TABLE usage_event DROP run_seconds, DROP spend_usd;
  ALTER TABLE usage_counter DROP run_seconds, DROP spend_usd`;

const usageDown = ['usage_event', 'usage_counter']
  .map(
    (table) => `
  ALTER TABLE ${table} ADD run_seconds double precision NOT NULL DEFAULT 0, ADD spend_usd double precision NOT NULL DEFAULT 0;
  UPDATE ${table} SET run_seconds = run_ms / 1000.0, spend_usd = ${microsToUsdSql('spend_micros')};
  ALTER TABLE ${table} DROP run_ms, DROP spend_micros;`,
  )
  .join('');
