import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A row of a run refers only to agents, workflows and jobs of its own organization: these foreign keys contain the
 * organization. Row-level security guards the organization of the row itself, but the database checks a foreign key
 * without it. The tables have no foreign key to the organization, so that a run does not check and lock its one row.
 *
 * New rows are checked at once, and existing rows without blocking writes. An interrupted migration continues with the
 * keys that it has not changed yet.
 */
export class KeysWithinOrganizations1763838100100 implements MigrationInterface {
  /** The tables are large, so the indexes are created and the rows are checked while they are written to. */
  transaction = false as const;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('SET lock_timeout = 0');
    try {
      for (const table of referenced) await createKey(runner, table);
    } finally {
      await runner.query('RESET lock_timeout');
    }
    for (const key of foreignKeys) await addOrganization(runner, key);
    for (const table of referenced) await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${table}_organization_idx`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of referenced)
      await runner.query(`CREATE INDEX IF NOT EXISTS ${table}_organization_idx ON ${table} (organization_id, id)`);
    for (const [table, name, column, target] of foreignKeys) {
      await runner.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
      await runner.query(
        `ALTER TABLE ${table} ADD CONSTRAINT ${name} FOREIGN KEY (${column}) REFERENCES ${target} ON DELETE CASCADE`,
      );
    }
    for (const table of referenced) await runner.query(`DROP INDEX ${table}_organization_key`);
  }
}

/** Tables that the foreign keys refer to. Their index of the organization becomes unique. */
const referenced = ['agent', 'workflow', 'job'] as const;

const foreignKeys = [
  ['job', 'job_agent_fk', 'agent_id', 'agent'],
  ['job', 'job_workflow_fk', 'workflow_id', 'workflow'],
  ['job_log_seen', 'job_log_seen_job_fk', 'job_id', 'job'],
  ['job_step', 'job_step_job_fk', 'job_id', 'job'],
  ['ai_usage', 'ai_usage_job_fk', 'job_id', 'job'],
  ['claim_outcome', 'claim_outcome_job_fk', 'job_id', 'job'],
  ['agent_command', 'agent_command_agent_fk', 'agent_id', 'agent'],
  ['agent_command', 'agent_command_job_fk', 'job_id', 'job'],
  ['timeline_head', 'timeline_head_agent_fk', 'agent_id', 'agent'],
  ['run_cost', 'run_cost_job_fk', 'job_id', 'job'],
  ['agent_idle', 'agent_idle_agent_fk', 'agent_id', 'agent'],
  ['agent_wake', 'agent_wake_agent_fk', 'agent_id', 'agent'],
  ['artifact', 'artifact_agent_fk', 'agent_id', 'agent'],
  ['artifact', 'artifact_job_fk', 'job_id', 'job'],
] as const;

async function createKey(runner: QueryRunner, table: string): Promise<void> {
  const [valid] = (await runner.query(
    `SELECT 1 FROM pg_index WHERE indexrelid = to_regclass('${table}_organization_key') AND indisvalid`,
  )) as unknown[];
  if (valid) return;
  // An interrupted creation leaves an invalid index.
  await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${table}_organization_key`);
  await runner.query(`CREATE UNIQUE INDEX CONCURRENTLY ${table}_organization_key ON ${table} (organization_id, id)`);
}

async function addOrganization(
  runner: QueryRunner,
  [table, name, column, target]: (typeof foreignKeys)[number],
): Promise<void> {
  const [changed] = (await runner.query(
    `SELECT 1 FROM pg_constraint WHERE conrelid = '${table}'::regclass AND conname = '${name}' AND cardinality(conkey) = 2`,
  )) as unknown[];
  if (changed) return;
  await runner.query(`ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${name}_new`);
  await runner.query(
    `ALTER TABLE ${table} ADD CONSTRAINT ${name}_new FOREIGN KEY (organization_id, ${column})
       REFERENCES ${target} (organization_id, id) ON DELETE CASCADE NOT VALID`,
  );
  await runner.query(`ALTER TABLE ${table} VALIDATE CONSTRAINT ${name}_new`);
  await runner.query(
    `ALTER TABLE ${table} DROP CONSTRAINT ${name}; ALTER TABLE ${table} RENAME CONSTRAINT ${name}_new TO ${name}`,
  );
}
