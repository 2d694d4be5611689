import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When the sweep last looked whether the agent has a job to start: who waited longest for that comes first. */
export class DispatchTurns1763786000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent ADD dispatch_swept_at timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent DROP dispatch_swept_at');
  }
}
