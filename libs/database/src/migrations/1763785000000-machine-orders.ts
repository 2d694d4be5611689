import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An agent's previous status, its ended boots, and the number of times a provider refused an order. */
export class MachineOrders1763785000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent ADD previous_status text, ADD ended_boots text[] NOT NULL DEFAULT '{}';
      ALTER TABLE agent_control ADD refusals integer NOT NULL DEFAULT 0;
      ALTER TABLE agent_wake DROP boot_id;
      UPDATE agent SET ended_boots = ARRAY[boot_id] WHERE status = 'stopped' AND boot_id IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent_wake ADD boot_id text;
      ALTER TABLE agent_control DROP refusals;
      ALTER TABLE agent DROP previous_status, DROP ended_boots;
    `);
  }
}
