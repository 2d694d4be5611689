import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Questions of runs and autopilot sessions to people. */
export class Questions1763830290000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE question (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT question_organization_fk REFERENCES organization ON DELETE CASCADE,
        job_id uuid CONSTRAINT question_job_fk REFERENCES job ON DELETE CASCADE,
        session_id uuid CONSTRAINT question_session_fk REFERENCES autopilot_session ON DELETE CASCADE,
        agent_id uuid NOT NULL CONSTRAINT question_agent_fk REFERENCES agent ON DELETE CASCADE,
        workflow_id uuid,
        question_key text NOT NULL,
        question text NOT NULL,
        kind text NOT NULL CONSTRAINT question_kind_check
          CHECK (kind IN ('code', 'text', 'choice', 'confirm', 'form')),
        choices text[],
        fields jsonb,
        audience text[] NOT NULL DEFAULT '{}',
        default_answer jsonb,
        context jsonb,
        screenshot_key text,
        status text NOT NULL DEFAULT 'open' CONSTRAINT question_status_check
          CHECK (status IN ('open', 'answered', 'expired', 'cancelled')),
        answer jsonb,
        sealed jsonb,
        answered_by text,
        answered_via text,
        reason text,
        asked_at timestamptz NOT NULL DEFAULT muster_now(),
        ended_at timestamptz,
        expires_at timestamptz NOT NULL,
        cut boolean NOT NULL DEFAULT false,
        CONSTRAINT question_asker_check CHECK ((job_id IS NULL) <> (session_id IS NULL))
      );
      CREATE UNIQUE INDEX question_key_key ON question (job_id, question_key);
      CREATE INDEX question_session_idx ON question (session_id) WHERE session_id IS NOT NULL;
      CREATE INDEX question_organization_idx ON question (organization_id, id);
      CREATE INDEX question_open_idx ON question (organization_id, id) WHERE status = 'open';
      CREATE INDEX question_due_idx ON question (expires_at) WHERE status = 'open';
      CREATE INDEX question_agent_idx ON question (agent_id);
    `);
    await isolateTenantsOfTable(runner, 'question', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE question');
  }
}
