import { randomUUID } from 'node:crypto';
import { createEmptyDatabase } from '@muster/testing';
import { createOwnerDataSource } from '../data-source';
import { migrateDatabase } from '../migrate-database';

describe('the migration of required second factors', () => {
  it('the migration of required second factors requires none from users who existed before it', async () => {
    const database = await createEmptyDatabase();
    const source = createOwnerDataSource(database.url);
    try {
      await migrateDatabase(database.url);
      await source.initialize();
      for (let last = ''; last !== 'RequiredFactors1763838300100';) {
        [{ name: last }] = await source.query('SELECT name FROM schema_migration ORDER BY id DESC LIMIT 1');
        await source.undoLastMigration();
      }
      const organizationId = randomUUID();
      await source.query(`INSERT INTO organization (id, name) VALUES ($1, 'o')`, [organizationId]);
      await source.query(
        `INSERT INTO app_user (id, organization_id, email, role, password_hash)
         VALUES ($1, $2, 'root@example.com', 'super_admin', '')`,
        [randomUUID(), organizationId],
      );
      await migrateDatabase(database.url);
      expect(await source.query('SELECT email, must_enrol FROM app_user')).toEqual([
        { email: 'root@example.com', must_enrol: false },
      ]);
    } finally {
      await source.destroy();
      await database.drop();
    }
  });
});
