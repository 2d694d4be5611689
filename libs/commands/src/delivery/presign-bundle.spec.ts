import { AccessModule } from '@muster/access';
import { type Database, DatabaseModule } from '@muster/database';
import { Clock, newId } from '@muster/platform';
import { ObjectStorage, StorageConfig } from '@muster/storage';
import { FakeClock, type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { KeyRing, VaultModule } from '@muster/vault';
import { VmConfig } from '@muster/vm';
import { CommandsModule } from '../commands.module';
import { commandColumns, type CommandRow } from '../command/command-row';
import { composeDeliveries } from './compose-delivery';

describe('A command with a bundle', () => {
  const clock = new FakeClock('2026-03-07T12:00:00.000Z');
  let harness: Harness;
  let db: Database;

  beforeAll(async () => {
    harness = await startHarness({
      name: 'gateway',
      configs: [StorageConfig, VmConfig],
      modules: [DatabaseModule, AccessModule, VaultModule, CommandsModule],
      env: { S3_THROUGH_SERVICE: 'true' },
      clock,
    });
    db = harness.db;
  });
  afterAll(() => harness.close());

  it('a command’s bundle URL is never stored, but presigned at each delivery for the agent’s service address', async () => {
    const { id: organizationId } = await makeOrganization(db);
    const { id: agentId } = await makeAgent(db, { organizationId });
    const [id, objectKey] = [newId(), `packs/${organizationId}/bundles/abc.zip`];
    const nest = harness.app.nest;
    const [storage, keyRing] = [nest.get(ObjectStorage, { strict: false }), nest.get(KeyRing, { strict: false })];
    expect(nest.get(Clock, { strict: false })).toBe(clock);
    await storage.put(objectKey, Buffer.from('zip'), 'application/zip');
    const payload = { script: '', bundle: { digest: 'sha256:abc', objectKey } };
    await db.query(
      'system',
      `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, env, vault_keys, deadline)
       VALUES ($1, $2, $3, 'run', $4, '{}', '{}', now() + interval '1 hour')`,
      [id, organizationId, agentId, JSON.stringify(payload)],
    );
    const rows = await db.query<CommandRow>('system', `SELECT ${commandColumns} FROM agent_command c WHERE id = $1`, [
      id,
    ]);
    const deliver = async () => {
      const parts = { database: db, keyRing, storage, serviceUrl: 'http://far.example:8080' };
      const [composed] = await composeDeliveries(parts, rows);
      if (!composed || !('command' in composed)) throw new Error('the command was not composed');
      return composed.command.payload.bundle as { digest: string; url: string };
    };
    const first = await deliver();
    expect(first).toEqual({ digest: 'sha256:abc', url: expect.stringContaining('X-Amz-Expires=3600') });
    expect(new URL(first.url).origin).toBe('http://far.example:8080');
    // The signature of a URL contains the time in seconds, so after this wait the next URL differs.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect((await deliver()).url).not.toBe(first.url);
    const [stored] = await db.query<{ payload: object }>('system', 'SELECT payload FROM agent_command WHERE id = $1', [
      id,
    ]);
    expect(stored!.payload).toEqual(payload);
  });
});
