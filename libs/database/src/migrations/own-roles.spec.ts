import { randomUUID } from 'node:crypto';
import { createEmptyDatabase } from '@muster/testing';
import { createOwnerDataSource } from '../data-source';
import { migrateDatabase } from '../migrate-database';

describe('the migration of own roles', () => {
  it('undoing the migration of own roles disables the users who have such roles, because no other role has the same permissions', async () => {
    const database = await createEmptyDatabase();
    const source = createOwnerDataSource(database.url);
    try {
      await migrateDatabase(database.url);
      await source.initialize();
      const organizationId = randomUUID();
      await source.query(`INSERT INTO organization (id, name) VALUES ($1, 'o')`, [organizationId]);
      await source.query(`INSERT INTO own_role (organization_id, name, permissions) VALUES ($1, 'Front desk', '{}')`, [
        organizationId,
      ]);
      for (const role of ['viewer', 'Front desk']) {
        await source.query(
          `INSERT INTO app_user (id, organization_id, email, role, password_hash) VALUES ($1, $2, $3, $4, '')`,
          [randomUUID(), organizationId, `${role.replace(' ', '.')}@example.com`, role],
        );
      }
      for (let last = ''; last !== 'OwnRoles1763837000100';) {
        [{ name: last }] = await source.query('SELECT name FROM schema_migration ORDER BY id DESC LIMIT 1');
        await source.undoLastMigration();
      }
      expect(await source.query('SELECT email, role, disabled FROM app_user ORDER BY email DESC')).toEqual([
        { email: 'viewer@example.com', role: 'viewer', disabled: false },
        { email: 'Front.desk@example.com', role: 'viewer', disabled: true },
      ]);
    } finally {
      await source.destroy();
      await database.drop();
    }
  });
});
