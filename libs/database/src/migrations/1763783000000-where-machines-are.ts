import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The address that a machine calls from, the URL at which it reaches the service, and the tunnel through which a push
 * failed.
 */
export class WhereMachinesAre1763783000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent ADD seen_from text, ADD service_url text, ADD unreachable_tunnel text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent DROP seen_from, DROP service_url, DROP unreachable_tunnel');
  }
}
