import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Questions that let people use the run's browser. */
export class Takeover1763836200101 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE question ADD takeover boolean NOT NULL DEFAULT false');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE question DROP takeover');
  }
}
