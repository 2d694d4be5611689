import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Where a machine calls from and reaches us, and which tunnel of it a push did not get through. */
export class WhereMachinesAre1763783000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent ADD seen_from text, ADD service_url text, ADD unreachable_tunnel text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent DROP seen_from, DROP service_url, DROP unreachable_tunnel');
  }
}
