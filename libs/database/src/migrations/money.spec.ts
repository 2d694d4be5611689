import { randomUUID } from 'node:crypto';
import { type ClonedDatabase, createEmptyDatabase } from '@muster/testing';
import { createOwnerDataSource } from '../data-source';
import { migrateDatabase } from '../migrate-database';

describe('the migration of money', () => {
  let database: ClonedDatabase;
  let source: ReturnType<typeof createOwnerDataSource>;
  const organizationId = randomUUID();
  const workflowId = randomUUID();
  const agentId = randomUUID();

  beforeAll(async () => {
    database = await createEmptyDatabase();
    await migrateDatabase(database.url);
    source = await createOwnerDataSource(database.url).initialize();
    await revertMoneyMigration();
    await source.query(`INSERT INTO organization (id, name) VALUES ('${organizationId}', 'o')`);
    await source.query(
      `INSERT INTO organization_settings (organization_id, monthly_spend_limit_usd, labor_rate_usd_per_hour,
         hourly_compute_usd) VALUES ($1, 250.5, 31.25, 0.1)`,
      [organizationId],
    );
    await source.query(
      `INSERT INTO workflow (id, organization_id, name, revision) VALUES ('${workflowId}', '${organizationId}', 'w', 1)`,
    );
    await source.query(`INSERT INTO agent (id, organization_id, name) VALUES ('${agentId}', '${organizationId}', 'a')`);
  });
  afterAll(async () => {
    await source.destroy();
    await database.drop();
  });

  /** Reverts to the schema before the migration. */
  async function revertMoneyMigration(): Promise<void> {
    for (;;) {
      const [last] = await source.query('SELECT name FROM schema_migration ORDER BY id DESC LIMIT 1');
      await source.undoLastMigration();
      if (last.name === 'Money1763791000000') return;
    }
  }

  async function insertRun(cost: { reported: number | null; ai: number[]; total: number; spends: number[] }) {
    const id = randomUUID();
    await source.query(
      `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status, started_at, finished_at,
         total_cost_usd)
       VALUES ($1, $2, $3, 1, $4, 'completed', '2026-03-01T10:00:00Z', '2026-03-01T10:20:00.5Z', $5)`,
      [id, organizationId, workflowId, agentId, cost.total],
    );
    for (const [seq, usd] of cost.ai.entries()) {
      await source.query(
        `INSERT INTO ai_usage (job_id, step_order, seq, organization_id, provider, model, cost_usd)
         VALUES ($1, 1, $2, $3, 'openai', 'm', $4)`,
        [id, seq, organizationId, usd],
      );
    }
    await source.query(
      `INSERT INTO run_cost (job_id, organization_id, run_seconds, hourly_compute_usd, compute_usd, ai_usd, reported_usd,
         total_usd) VALUES ($1, $2, 1200.5, 0.1, 1200.5 / 3600 * 0.1, $3, $4, $5)`,
      [id, organizationId, cost.ai.reduce((sum, usd) => sum + usd, 0), cost.reported, cost.total],
    );
    for (const [at, usd] of cost.spends.entries()) {
      await source.query(
        `INSERT INTO usage_event (job_id, kind, revision, organization_id, month, spend_usd, run_seconds)
         VALUES ($1, 'spend', $2, $3, '2026-03-01', $4, 0)`,
        [id, at + 1, organizationId, usd],
      );
    }
    return id;
  }

  it('the money migration rounds each component once, adds up totals from components, and reverts without loss', async () => {
    const compute = (1200.5 / 3600) * 0.1;
    const small = await insertRun({
      reported: null,
      ai: [0.1, 0.2, 0.0000005],
      total: compute + 0.3000005,
      spends: [compute, 0.3000005],
    });
    const reported = await insertRun({ reported: 1.5, ai: [0.25], total: 1.5, spends: [1.5] });
    const spent = compute + 0.3000005 + 1.5;
    await source.query(
      `INSERT INTO usage_counter (organization_id, month, runs, run_seconds, spend_usd)
       VALUES ($1, '2026-03-01', 2, 0, $2), ($1, '2026-02-01', 1, 0.5, 7.25)`,
      [organizationId, spent],
    );
    await migrateDatabase(database.url);
    const after = await readMoney();
    expect(after).toEqual({
      settings: [{ limit: 250_500_000, labor: 31_250_000, compute: 100_000 }],
      // 0.0333472… and 0.3000005, each rounded half to even.
      jobs: {
        [small]: { total: 333_347, reported: null, components: ['ai 300000', 'compute 33347'], booked: 333_347 },
        [reported]: {
          total: 1_500_000,
          reported: 1_500_000,
          components: ['ai 250000', 'compute 33347', 'reported 1216653'],
          booked: 1_500_000,
        },
      },
      // A counter that was the sum of its events still is; a counter that differed keeps its difference.
      counters: [
        { month: '2026-02', spend: 7_250_000, ms: 500 },
        { month: '2026-03', spend: 1_833_347, ms: 0 },
      ],
    });
    await revertMoneyMigration();
    const [{ total }] = await source.query(`SELECT total_cost_usd AS total FROM job WHERE id = '${small}'`);
    expect(total).toBe(0.333347);
    const [cost] = await source.query(
      `SELECT run_seconds, hourly_compute_usd, compute_usd, ai_usd, reported_usd, total_usd FROM run_cost
       WHERE job_id = '${reported}'`,
    );
    expect(cost).toEqual({
      run_seconds: 1200.5,
      hourly_compute_usd: 0.1,
      compute_usd: 0.033347,
      ai_usd: 0.25,
      reported_usd: 1.5,
      total_usd: 1.5,
    });
    await migrateDatabase(database.url);
    expect(await readMoney()).toEqual(after);
  });

  async function readMoney() {
    const settings = await source.query(
      `SELECT monthly_spend_limit_micros AS limit, labor_micros_per_hour AS labor, compute_micros_per_hour AS compute
       FROM organization_settings`,
    );
    const jobs: { id: string; total: number }[] = await source.query(
      `SELECT j.id, j.total_cost_micros AS total, j.reported_cost_micros AS reported,
              (SELECT array_agg(kind || ' ' || amount_micros ORDER BY position) FROM run_cost_component c
               WHERE c.job_id = j.id) AS components,
              (SELECT sum(spend_micros)::bigint FROM usage_event e WHERE e.job_id = j.id) AS booked
       FROM job j`,
    );
    const counters = await source.query(
      `SELECT to_char(month, 'YYYY-MM') AS month, spend_micros AS spend, run_ms AS ms FROM usage_counter ORDER BY 1`,
    );
    return { settings, jobs: Object.fromEntries(jobs.map(({ id, ...job }) => [id, job])), counters };
  }
});
