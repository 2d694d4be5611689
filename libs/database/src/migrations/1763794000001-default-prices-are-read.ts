import type { MigrationInterface, QueryRunner } from 'typeorm';
import { appRole } from '../transactions/tenant-isolation';

const tables = ['default_model_price', 'default_price_list'];

/**
 * Every organization may read the default prices, because a run summary or a deletion prices a run in its
 * organization's scope.
 */
export class DefaultPricesAreRead1763794000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of tables) {
      await runner.query(`GRANT SELECT ON ${table} TO ${appRole}`);
      await runner.query(`CREATE POLICY ${table}_read ON ${table} FOR SELECT TO ${appRole} USING (true)`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of tables) {
      await runner.query(`DROP POLICY ${table}_read ON ${table}`);
      await runner.query(`REVOKE SELECT ON ${table} FROM ${appRole}`);
    }
  }
}
