import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { Client } from 'pg';
import type { Environment } from '@muster/platform';
import type { ObjectStorage } from '@muster/storage';
import {
  seedLargeOrganization,
  type ClonedDatabase,
  cloneDatabase,
  createEmptyDatabase,
  buildTestEnvironment,
  readTestStack,
} from '@muster/testing';
import { connectTo } from './backup/dump-database';
import { chooseBackup, paths } from './backup/manifest';
import { takeBackup } from './backup/take-backup';
import { createStorage } from './installation';
import { FolderPlace } from './place/folder-place';
import { restoreBackup } from './restore/restore-backup';
import { runAdmin } from './run-admin';

export const ignoreProgress = () => undefined;

/** An installation to back up, or the target of a restore. */
export interface Place {
  database: ClonedDatabase;
  environment: Environment;
  storage: ObjectStorage;
}

/** An installation with data and objects, and the folder of its backups. */
export class BackupFixture {
  readonly folder: string;
  private taken = 0;

  private constructor(
    readonly root: string,
    readonly source: Place,
    readonly client: Client,
    /** Key with which the backups are decrypted, and the recipient for whom they are encrypted. */
    readonly identity: string,
    readonly recipient: string,
    private readonly places: Place[],
  ) {
    this.folder = join(root, 'backups');
  }

  static async open(): Promise<BackupFixture> {
    const identity = await generateX25519Identity();
    const database = await cloneDatabase();
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await seedLargeOrganization(client, { jobs: 300, agents: 20, entries: 600 });
    const source = await createPlaceFor(database);
    await client.query('DELETE FROM artifact');
    const { rows } = await client.query<{ key: string }>(
      `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
       SELECT gen_random_uuid(), organization_id, id, 'other', 'a.png', 'image/png', 1, 'artifacts/' || id
       FROM agent LIMIT 5 RETURNING storage_key AS key`,
    );
    for (const { key } of rows) await source.storage.put(key, Buffer.from(key), 'image/png');
    const root = await mkdtemp(join(tmpdir(), 'muster-admin-'));
    return new BackupFixture(root, source, client, identity, await identityToRecipient(identity), [source]);
  }

  async close(): Promise<void> {
    await this.client.end();
    for (const { database, storage } of this.places) {
      await storage.onApplicationShutdown();
      await dropTemporaryDatabases(database.url);
      await database.drop();
    }
    await rm(this.root, { recursive: true, force: true });
  }

  takeBackup(options: Partial<Parameters<typeof takeBackup>[0]> = {}) {
    this.taken += 1;
    return takeBackup({
      place: new FolderPlace(this.folder),
      keys: { recipients: [this.recipient], identities: [] },
      databaseUrl: this.source.database.url,
      storage: this.source.storage,
      environment: this.source.environment,
      withKeys: false,
      version: '0.1.0',
      jobs: 2,
      now: new Date(Date.UTC(2026, 0, 1, 0, 0, this.taken)),
      onProgress: ignoreProgress,
      ...options,
    });
  }

  restoreInto(target: Place, options: { onProgress?: (line: string) => void; identity?: string } = {}) {
    return restoreBackup({
      place: new FolderPlace(this.folder),
      keys: { recipients: [], identities: [options.identity ?? this.identity] },
      environment: target.environment,
      jobs: 2,
      onProgress: options.onProgress ?? ignoreProgress,
    });
  }

  async createEmptyTarget(): Promise<Place> {
    const target = await createPlaceFor(await createEmptyDatabase());
    this.places.push(target);
    return target;
  }

  /** Creates a row that refers to an object. */
  async insertObjectRow(key: string): Promise<string> {
    await this.client.query(
      `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
       SELECT gen_random_uuid(), organization_id, agent_id, kind, filename, content_type, 1, $1 FROM artifact LIMIT 1`,
      [key],
    );
    return key;
  }

  /** Returns the path of an object that the newest backup contains. */
  async storeObject(): Promise<string> {
    const { id } = await chooseBackup(new FolderPlace(this.folder));
    const names = gunzipSync(await readFile(join(this.folder, paths.objectNames(id)))).toString();
    for await (const path of new FolderPlace(this.folder).list('objects/')) {
      if (names.includes(path.split('/').at(-1)!.replace('.age', ''))) return path;
    }
    throw new Error('there is no object');
  }

  /**
   * Changes one byte near the end of a file, or replaces one text with another. Returns the function that undoes it.
   */
  async changeByte(path: string, from?: string, to?: string): Promise<() => Promise<void>> {
    const file = join(this.folder, path);
    const before = await readFile(file);
    const after = from ? Buffer.from(before.toString().replace(from, to!)) : Buffer.from(before);
    if (!from) after[after.length - 20]! ^= 1;
    await writeFile(file, after);
    return () => writeFile(file, before);
  }
}

/** Creates a separate bucket for the database. */
async function createPlaceFor(database: ClonedDatabase): Promise<Place> {
  const { s3 } = readTestStack();
  const bucket = `admin-${randomBytes(6).toString('hex')}`;
  const made = new S3Client({ endpoint: s3.endpoint, region: s3.region, forcePathStyle: true, credentials: s3 });
  await made.send(new CreateBucketCommand({ Bucket: bucket }));
  made.destroy();
  const environment = buildTestEnvironment(database.url, { S3_BUCKET: bucket });
  return { database, environment, storage: createStorage(environment) };
}

export async function countRowsByTable({ url }: ClonedDatabase): Promise<Record<string, number>> {
  const reader = await connectTo(url);
  try {
    const { rows } = await reader.query<{ name: string; rows: string }>(
      `SELECT relname AS name, (xpath('//n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I', relname), false, true, '')))[1]::text AS rows
       FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`,
    );
    return Object.fromEntries(rows.map((row) => [row.name, Number(row.rows)]));
  } finally {
    await reader.end();
  }
}

async function dropTemporaryDatabases(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const server = await connectTo(readTestStack().databaseUrl);
  await server.query(`DROP DATABASE IF EXISTS "${name}_restoring" WITH (FORCE)`);
  await server.end();
}

export function failAtStep(step: number): () => void {
  let seen = 0;
  return () => {
    seen += 1;
    if (seen === step) throw new Error('interrupted here');
  };
}

export async function runAdminCommand(args: string[], env: Environment): Promise<{ code: number; output: string }> {
  let output = '';
  const stream = { write: (text: string) => Boolean((output += text)), isTTY: false } as unknown as NodeJS.WriteStream;
  return { code: await runAdmin(args, env, { stdout: stream, stderr: stream }), output };
}
