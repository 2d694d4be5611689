import { pipeline, Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { connectTo, createGzipStream, queryRows } from '../backup/dump-database';
import { type Manifest, manifestFormatVersion, paths, writeManifest } from '../backup/manifest';
import { type BackupKeys, Repository } from '../backup/repository';
import { saveNewObjects, saveObjects } from '../backup/save-objects';
import { createBackupId, saveSettings } from '../backup/take-backup';
import type { Installation } from '../installation';
import type { Place } from '../place/place';
import { readWalState, reserveWal, WalFollower, WalGapError } from './follow-wal';
import { readBase } from './read-base';
import { parsePosition } from './wal-position';

interface ContinuousOptions {
  place: Place;
  keys: BackupKeys;
  /** Opens the running service. Its addresses may change when it is restarted. */
  open: () => Promise<Installation>;
  withKeys: boolean;
  version: string;
  /** Time between two copies of the log, in milliseconds. */
  intervalMs?: number;
  /** Time after which a new base backup is taken, in milliseconds, so that a restore replays little of the log. */
  baseIntervalMs?: number;
  /** Ends the backup after a last copy of the log. */
  signal: AbortSignal;
  onProgress: (line: string) => void;
  onBase: (manifest: Manifest) => void;
  /** Called with an error after which the backup is continued, for example because the service was restarted. */
  onInterruption: (error: Error) => void;
}

const defaultIntervalMs = 5000;
const defaultBaseIntervalMs = 24 * 3_600_000;

interface Session {
  installation: Installation;
  /** Connection whose replication slot makes the server retain its log. */
  client: Client;
}

interface Running {
  id: string;
  startedAt: number;
  follower: WalFollower;
  /** File names of the saved objects, by key. */
  known: Map<string, string>;
  lists: number;
  /** Time of the next search for new objects. */
  objectsAt: number;
  /** Time until which all new objects are saved, and until which the objects and the log are. */
  objectsUntil: string;
  savedUntil: string;
  /** The search in progress. */
  objects: Promise<void> | null;
  session: Session | null;
}

/**
 * Takes a base backup of a running service, and then saves its log and its new objects every few seconds until it is
 * stopped. If the server has removed a part of the log, for example because this process was away for too long, it takes
 * another base backup.
 */
export async function takeContinuousBackup(options: ContinuousOptions): Promise<void> {
  const { signal, intervalMs = defaultIntervalMs, baseIntervalMs = defaultBaseIntervalMs, onInterruption } = options;
  const repository = await Repository.openOrCreate(options.place, options.keys);
  let running = await begin(options, repository);
  let next: Promise<Running | Error> | null = null;
  for (;;) {
    const isLast = signal.aborted;
    try {
      running.session ??= await resume(options, running);
      await saveNew(options, repository, running);
    } catch (error) {
      await closeSession(running);
      onInterruption(error as Error);
      if (error instanceof WalGapError && !isLast) {
        const replaced = await (next ?? beginOrFail(options, repository));
        next = null;
        if (replaced instanceof Error) onInterruption(replaced);
        else running = replaced;
      }
    }
    if (isLast) break;
    if (!next && Date.now() - running.startedAt > baseIntervalMs) next = beginOrFail(options, repository);
    await delay(intervalMs, undefined, { signal }).catch(() => undefined);
    const replaced = next && (await Promise.race([next, Promise.resolve(null)]));
    if (!replaced) continue;
    next = null;
    if (replaced instanceof Error) onInterruption(replaced);
    else {
      await closeSession(running);
      running = replaced;
    }
  }
  await closeSession(running);
  const left = await next;
  if (left && !(left instanceof Error)) await closeSession(left);
}

function beginOrFail(options: ContinuousOptions, repository: Repository): Promise<Running | Error> {
  return begin(options, repository).catch((error: Error) => error);
}

async function begin(options: ContinuousOptions, repository: Repository): Promise<Running> {
  const { place, version, withKeys, onProgress, onBase } = options;
  const startedAt = Date.now();
  const id = createBackupId(new Date(startedAt));
  const session = await openSession(options);
  const { installation, client } = session;
  try {
    const { timeline, segmentSize } = await readWalState(client);
    let start = '';
    const reader = await connectTo(installation.databaseUrl);
    const readFiles = readBase(reader, { onStart: (position) => (start = position), onProgress });
    const base = await place
      .write(
        paths.base(id),
        await repository.seal(
          pipeline(Readable.from(readFiles, { objectMode: false }), createGzipStream(), () => undefined),
        ),
      )
      .finally(() => reader.end());
    const keys: string[] = [];
    for await (const { key } of installation.storage.list('')) keys.push(key);
    const known = new Map<string, string>();
    const objects = await saveObjects({
      ...{ id, repository, storage: installation.storage, keys, onProgress },
      onSaved: ({ key, name }) => known.set(key, name),
    });
    const follower = new WalFollower(id, repository, { timeline, segmentSize }, parsePosition(start));
    const at = await follower.saveNew(client);
    await writeSavedUntil(place, id, at);
    const [{ postgres }] = await queryRows<{ postgres: string }>(
      client,
      "SELECT current_setting('server_version') AS postgres",
    );
    const migrations = await queryRows<{ name: string }>(client, 'SELECT name FROM schema_migration ORDER BY id');
    const manifest: Manifest = {
      formatVersion: manifestFormatVersion,
      id,
      version,
      takenAt: at,
      postgres,
      migrations: migrations.map(({ name }) => name),
      tables: [],
      sequences: [],
      objects,
      ...(await saveSettings(repository, id, {
        environment: installation.environment,
        withKeys,
        // The restored server has the same user with the same password.
        more: { POSTGRES_PASSWORD: decodeURIComponent(new URL(installation.databaseUrl).password) },
      })),
      continuous: { base, start, timeline, segmentSize },
    };
    await writeManifest(place, manifest);
    onBase(manifest);
    return {
      ...{ id, startedAt, follower, known, session },
      ...{ lists: 0, objectsAt: 0, objects: null, objectsUntil: at, savedUntil: at },
    };
  } catch (error) {
    await close(session);
    throw error;
  }
}

async function resume(options: ContinuousOptions, { follower }: Running): Promise<Session> {
  const session = await openSession(options);
  try {
    await follower.resume(session.client);
    return session;
  } catch (error) {
    await close(session);
    throw error;
  }
}

async function saveNew(options: ContinuousOptions, repository: Repository, running: Running): Promise<void> {
  const { id, follower, session } = running;
  const at = await follower.saveNew(session!.client);
  const isLast = options.signal.aborted;
  if (isLast) await running.objects;
  // The log does not wait for large objects.
  if (isLast || (!running.objects && Date.now() >= running.objectsAt))
    running.objects = saveLaterObjects(options, repository, running);
  if (isLast) await running.objects;
  const until = [at, running.objectsUntil].sort()[0]!;
  if (until > running.savedUntil) await writeSavedUntil(options.place, id, (running.savedUntil = until));
}

async function saveLaterObjects(
  { intervalMs = defaultIntervalMs, onInterruption }: ContinuousOptions,
  repository: Repository,
  running: Running,
): Promise<void> {
  const { id, known, session } = running;
  const began = new Date();
  running.lists += 1;
  const number = String(running.lists).padStart(8, '0');
  try {
    await saveNewObjects({ id, number, repository, storage: session!.installation.storage, known });
    running.objectsUntil = began.toISOString();
  } catch (error) {
    onInterruption(error as Error);
  } finally {
    // A large bucket takes long to list.
    running.objectsAt = Date.now() + Math.max(intervalMs, Date.now() - began.getTime());
    running.objects = null;
  }
}

async function writeSavedUntil(place: Place, id: string, at: string): Promise<void> {
  await place.write(paths.savedUntil(id), Readable.from([Buffer.from(`${JSON.stringify({ at })}\n`)]));
}

async function openSession({ open }: ContinuousOptions): Promise<Session> {
  const installation = await open();
  try {
    const client = await connectTo(installation.databaseUrl);
    try {
      await reserveWal(client);
      return { installation, client };
    } catch (error) {
      await client.end();
      throw error;
    }
  } catch (error) {
    await installation.close();
    throw error;
  }
}

async function closeSession(running: Running): Promise<void> {
  if (running.session) await close(running.session);
  running.session = null;
}

async function close({ client, installation }: Session): Promise<void> {
  await client.end().catch(() => undefined);
  await installation.close().catch(() => undefined);
}
