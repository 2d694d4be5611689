import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Of what every run writes: these said with each row that its organization is there, and locked that one row for it. */
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

/** Rows that change while they live: with room on their page a new version needs no new entries in indexes. */
const fillfactors = { job: 80, agent: 70, agent_command: 80, timeline_head: 70, usage_counter: 50, usage_event: 85 };

/** Tables whose dead rows each run leaves: what is dead is cleared when it is a fiftieth, and not a fifth. */
const busy = ['job', 'agent', 'agent_command', 'timeline_head', 'usage_counter', 'outbox', 'run_cost_change'];

/**
 * An organization is never deleted, and whose a row is, row-level security guards: the rows of runs need no foreign key to
 * the organization. And the tables that every run changes say how they are best kept.
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
