import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Identifies who answered a question, besides the text that processes of the previous version write and read. */
export class QuestionAnswerers1763837200100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE question ADD answerer jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE question DROP answerer');
  }
}
