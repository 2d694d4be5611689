import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/**
 * Stores a model's response about video frames together with its cost, so that a crash does not cause a second, paid
 * request.
 */
export class FilmAnswers1763820000102 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE video_answer (
        analysis_id uuid NOT NULL CONSTRAINT video_answer_analysis_fk REFERENCES video_analysis ON DELETE CASCADE,
        asked integer NOT NULL,
        model_call_id uuid NOT NULL,
        organization_id uuid NOT NULL CONSTRAINT video_answer_organization_fk REFERENCES organization ON DELETE CASCADE,
        answer text NOT NULL,
        input_tokens bigint NOT NULL,
        output_tokens bigint NOT NULL,
        cost_micros bigint NOT NULL,
        PRIMARY KEY (analysis_id, asked, model_call_id)
      )`);
    await isolateTenantsOfTable(runner, 'video_answer', { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE video_answer');
  }
}
