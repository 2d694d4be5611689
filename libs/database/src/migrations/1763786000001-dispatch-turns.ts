import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Time when the dispatch sweep last checked the agent. The agent that was not checked for the longest time is next. */
export class DispatchTurns1763786000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent ADD dispatch_swept_at timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent DROP dispatch_swept_at');
  }
}
