import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

const organizationColumnSql = (table: string) =>
  `organization_id uuid NOT NULL CONSTRAINT ${table}_organization_fk REFERENCES organization ON DELETE CASCADE`;
const sessionColumnSql = (table: string) =>
  `session_id uuid NOT NULL CONSTRAINT ${table}_session_fk REFERENCES autopilot_session ON DELETE CASCADE`;
const strategies = `('stable_code', 'selectors', 'model')`;
const tables = ['autopilot_session', 'autopilot_step', 'autopilot_attempt', 'autopilot_event', 'autopilot_lesson'];

/** Autopilot sessions, and the lessons from them. */
export class Autopilot1763814000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE autopilot_session (
        id uuid PRIMARY KEY,
        ${organizationColumnSql('autopilot_session')},
        agent_id uuid NOT NULL CONSTRAINT autopilot_session_agent_fk REFERENCES agent ON DELETE CASCADE,
        status text NOT NULL DEFAULT 'queued' CONSTRAINT autopilot_session_status_check
          CHECK (status IN ('queued', 'running', 'paused', 'resumed', 'completed', 'failed', 'cancelled')),
        phase text NOT NULL CONSTRAINT autopilot_session_phase_check
          CHECK (phase IN ('plan', 'open', 'begin', 'look', 'ask', 'act', 'recheck', 'check', 'close', 'over')),
        asked_by jsonb NOT NULL,
        intent text,
        task jsonb,
        task_key text,
        inputs jsonb NOT NULL DEFAULT '{}',
        vault_keys text[] NOT NULL DEFAULT '{}',
        workflow_name text,
        max_steps integer NOT NULL,
        max_attempts integer NOT NULL,
        max_active_ms bigint NOT NULL,
        max_cost_micros bigint NOT NULL,
        approve text NOT NULL CONSTRAINT autopilot_session_approve_check CHECK (approve IN ('never', 'before_submit')),
        command_id uuid,
        asking uuid,
        due_at timestamptz DEFAULT now(),
        at_step integer,
        held jsonb,
        look jsonb,
        paused_for jsonb,
        ending jsonb,
        close_step integer NOT NULL DEFAULT 0,
        steps_begun integer NOT NULL DEFAULT 0,
        attempts integer NOT NULL DEFAULT 0,
        passed integer NOT NULL DEFAULT 0,
        healed integer NOT NULL DEFAULT 0,
        model_calls integer NOT NULL DEFAULT 0,
        input_tokens bigint NOT NULL DEFAULT 0,
        output_tokens bigint NOT NULL DEFAULT 0,
        cost_micros bigint NOT NULL DEFAULT 0,
        active_ms bigint NOT NULL DEFAULT 0,
        active_since timestamptz,
        last_event integer NOT NULL DEFAULT 0,
        error text,
        error_code text,
        workflow_id uuid,
        created_at timestamptz NOT NULL DEFAULT now(),
        started_at timestamptz,
        finished_at timestamptz
      );
      CREATE INDEX autopilot_session_agent_idx ON autopilot_session (agent_id, id);
      CREATE INDEX autopilot_session_organization_idx ON autopilot_session (organization_id, finished_at);
      CREATE INDEX autopilot_session_due_idx ON autopilot_session (due_at, id) WHERE due_at IS NOT NULL;

      CREATE TABLE autopilot_step (
        ${sessionColumnSql('autopilot_step')},
        position integer NOT NULL,
        ${organizationColumnSql('autopilot_step')},
        step_id text NOT NULL,
        status text NOT NULL DEFAULT 'pending' CONSTRAINT autopilot_step_status_check
          CHECK (status IN ('pending', 'running', 'passed', 'failed', 'skipped')),
        instruction text,
        code_once text,
        tried text[] NOT NULL DEFAULT '{}',
        unsure integer NOT NULL DEFAULT 0,
        may_submit boolean NOT NULL DEFAULT false,
        submitted boolean NOT NULL DEFAULT false,
        by_hand boolean NOT NULL DEFAULT false,
        last_error text,
        selectors jsonb NOT NULL DEFAULT '[]',
        stable_code text,
        extracted jsonb NOT NULL DEFAULT '{}',
        PRIMARY KEY (session_id, position)
      );

      CREATE TABLE autopilot_attempt (
        id uuid PRIMARY KEY,
        ${sessionColumnSql('autopilot_attempt')},
        ${organizationColumnSql('autopilot_attempt')},
        position integer NOT NULL,
        attempt integer NOT NULL,
        strategy text NOT NULL CONSTRAINT autopilot_attempt_strategy_check CHECK (strategy IN ${strategies}),
        outcome text NOT NULL DEFAULT 'running' CONSTRAINT autopilot_attempt_outcome_check
          CHECK (outcome IN ('running', 'passed', 'failed', 'unknown', 'stopped', 'blocked', 'unsure')),
        error text,
        error_code text,
        screenshot_key text,
        submitted boolean NOT NULL DEFAULT false,
        model_calls integer NOT NULL DEFAULT 0,
        input_tokens bigint NOT NULL DEFAULT 0,
        output_tokens bigint NOT NULL DEFAULT 0,
        cost_micros bigint NOT NULL DEFAULT 0,
        started_at timestamptz NOT NULL DEFAULT now(),
        finished_at timestamptz
      );
      CREATE UNIQUE INDEX autopilot_attempt_key ON autopilot_attempt (session_id, position, attempt);

      CREATE TABLE autopilot_event (
        ${sessionColumnSql('autopilot_event')},
        seq integer NOT NULL,
        ${organizationColumnSql('autopilot_event')},
        type text NOT NULL CONSTRAINT autopilot_event_type_check CHECK (type IN ('session', 'step', 'attempt')),
        data jsonb NOT NULL,
        at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (session_id, seq)
      );

      CREATE TABLE autopilot_lesson (
        ${organizationColumnSql('autopilot_lesson')},
        task_key text NOT NULL,
        step_id text NOT NULL,
        code text NOT NULL,
        actions jsonb NOT NULL,
        selectors jsonb NOT NULL,
        extracts text[] NOT NULL DEFAULT '{}',
        healed integer NOT NULL DEFAULT 0,
        session_id uuid NOT NULL,
        updated_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (organization_id, task_key, step_id)
      );

      ALTER TABLE agent ADD autopilot_session_id uuid;
    `);
    for (const table of tables) await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent DROP autopilot_session_id');
    for (const table of [...tables].reverse()) await runner.query(`DROP TABLE ${table}`);
  }
}
