import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Conversions of recordings into workflows, uploaded videos, and the source of a workflow. */
export class VideoAnalyses1763812000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE video_analysis (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT video_analysis_organization_fk REFERENCES organization ON DELETE CASCADE,
        agent_id uuid NOT NULL CONSTRAINT video_analysis_agent_fk REFERENCES agent ON DELETE CASCADE,
        recording_id uuid,
        upload_key text,
        name text,
        hint text,
        actor jsonb NOT NULL,
        status text NOT NULL DEFAULT 'queued' CONSTRAINT video_analysis_status_check
          CHECK (status IN ('queued', 'running', 'completed', 'failed')),
        step text NOT NULL DEFAULT 'read' CONSTRAINT video_analysis_step_check
          CHECK (step IN ('read', 'frames', 'ask', 'make')),
        progress integer NOT NULL DEFAULT 0,
        command_id uuid,
        frames integer NOT NULL DEFAULT 0,
        frame_times jsonb NOT NULL DEFAULT '[]',
        asked integer NOT NULL DEFAULT 0,
        seen jsonb NOT NULL DEFAULT '[]',
        input_tokens bigint NOT NULL DEFAULT 0,
        output_tokens bigint NOT NULL DEFAULT 0,
        cost_micros bigint NOT NULL DEFAULT 0,
        workflow_id uuid,
        error text,
        code text,
        turn integer NOT NULL DEFAULT 0,
        faults integer NOT NULL DEFAULT 0,
        due_at timestamptz DEFAULT now(),
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX video_analysis_due_idx ON video_analysis (due_at) WHERE due_at IS NOT NULL;
      CREATE TABLE film_upload (
        upload_key text PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT film_upload_organization_fk REFERENCES organization ON DELETE CASCADE,
        content_type text NOT NULL,
        size bigint NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      );
      ALTER TABLE workflow ADD source jsonb;
    `);
    for (const table of ['video_analysis', 'film_upload']) {
      await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE workflow DROP source; DROP TABLE film_upload, video_analysis');
  }
}
