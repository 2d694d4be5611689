import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Tables that every run writes to. For each inserted row, their foreign key checked and locked the one row of the
 * organization.
 */
const tables = [
  'job',
  'job_log_seen',
  'job_step',
  'ai_usage',
  'claim_outcome',
  'agent_command',
  'timeline_head',
  'audit_entry',
  'outbox',
  'webhook_event',
  'usage_event',
  'usage_counter',
  'run_cost',
  'run_cost_component',
  'run_cost_change',
];

/**
 * Fill factors in percent of tables whose rows are updated. While a page has free space, a new row version stays on the
 * page and needs no new index entries.
 */
const fillfactors = { job: 80, agent: 70, agent_command: 80, timeline_head: 70, usage_counter: 50, usage_event: 85 };

/**
 * Tables in which each run leaves dead rows. They are vacuumed when one fiftieth of their rows is dead, instead of one
 * fifth.
 */
const busy = ['job', 'agent', 'agent_command', 'timeline_head', 'usage_counter', 'outbox', 'run_cost_change'];

/**
 * Drops the foreign keys from the rows of runs to the organization. They are not needed: an organization is never
 * deleted, and row-level security guards the organization of a row. Also sets storage parameters of the tables that
 * every run changes.
 */
export class HotTables1763830300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of tables) await runner.query(`ALTER TABLE ${table} DROP CONSTRAINT ${table}_organization_fk`);
    for (const [table, percent] of Object.entries(fillfactors)) {
      await runner.query(`ALTER TABLE ${table} SET (fillfactor = ${percent})`);
    }
    for (const table of busy) {
      await runner.query(
        `ALTER TABLE ${table} SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)`,
      );
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of busy) {
      await runner.query(
        `ALTER TABLE ${table} RESET (autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor)`,
      );
    }
    for (const table of Object.keys(fillfactors)) await runner.query(`ALTER TABLE ${table} RESET (fillfactor)`);
    for (const table of tables) {
      await runner.query(
        `ALTER TABLE ${table} ADD CONSTRAINT ${table}_organization_fk
           FOREIGN KEY (organization_id) REFERENCES organization ON DELETE CASCADE`,
      );
    }
  }
}
