import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { UsageError } from '../admin-error';
import type { Call, Command } from '../command';
import { takeContinuousBackup } from '../continuous/take-continuous-backup';
import { openInstallation, openRunningInstallation } from '../installation';
import { openBackupLocation } from '../place/open-place';
import type { Place } from '../place/place';
import { restoreBackup } from '../restore/restore-backup';
import { version } from '../version';
import { chooseBackup, listBackups, readSavedUntil } from './manifest';
import { parseKeepRule, pruneBackups, parseBackupTime } from './prune-backups';
import { type BackupKeys, Repository } from './repository';
import { takeBackup } from './take-backup';
import { verifyBackup } from './verify-backup';

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const keyOptions = { 'passphrase-file': text };
const openOptions = { ...keyOptions, identity: { type: 'string', multiple: true } as const };
const place =
  'PLACE is a folder or s3://bucket/prefix. BACKUP_S3_ENDPOINT and so on override S3_ENDPOINT and so on for the bucket.';
const openedBy =
  'Backups are decrypted with MUSTER_BACKUP_PASSPHRASE, --passphrase-file, or --identity with a file of age secret keys.';

export const backupCommands: Record<string, Command> = {
  backup: {
    usage: '--to PLACE [--data-dir DIR] [--recipient age1…] [--with-keys] [--jobs N] [--continuous]',
    summary: 'saves the database, the objects that its rows refer to, and the settings that are not secret',
    about: `${place}
Saves the data folder of npm start, which may be running, or the service that DATABASE_URL and S3_* specify. Everything
is encrypted: for each --recipient, or with MUSTER_BACKUP_PASSPHRASE or --passphrase-file. --with-keys saves the master
keys of MASTER_KEYS, else of the data folder; without them nobody can decrypt the secrets in the backup. Only objects that no earlier backup has are
saved. After an interrupted backup, the next one saves only the objects that are still missing.
--continuous saves the files of the database of a running data folder, then every few seconds its log and new objects,
until it is stopped (Ctrl-C). Such a backup can be restored to any second; every day it begins with new files.`,
    options: {
      to: text,
      continuous: flag,
      'data-dir': text,
      recipient: { type: 'string', multiple: true },
      'with-keys': flag,
      jobs: text,
      ...keyOptions,
    },
    run: async (call) => {
      const keys = await readKeys(call);
      await runWithBackupPlace(call, 'to', async (at) => {
        if (call.flag('continuous')) return backUpContinuously(call, { place: at, keys });
        const installation = await openInstallation(call.text('data-dir'), call.environment);
        try {
          const { id, tables, objects } = await takeBackup({
            ...installation,
            place: at,
            keys,
            withKeys: call.flag('with-keys'),
            version,
            jobs: parseJobs(call),
            now: new Date(),
            onProgress: call.onProgress,
          });
          const rows = tables.reduce((sum, table) => sum + table.rows, 0);
          call.write(
            `Backup ${id}: ${rows} rows of ${tables.length} tables, ${objects.count} objects (${objects.added} new` +
              `${objects.absent ? `; ${objects.absent} that rows refer to are not in the bucket` : ''}).`,
          );
        } finally {
          await installation.close();
        }
      });
    },
  },
  list: {
    usage: '--from PLACE [--json]',
    summary: 'lists the backups',
    about: `${place}\n--json prints {"backups": [{"id", "createdAt", "complete"}]}, the oldest first.`,
    options: { from: text, json: flag },
    run: (call) =>
      runWithBackupPlace(call, 'from', async (at) => {
        const all = await listBackups(at);
        if (call.flag('json')) {
          const backups = all.map(({ id, manifest }) => ({
            id,
            createdAt: manifest?.takenAt ?? new Date(parseBackupTime(id)).toISOString(),
            complete: manifest !== null,
          }));
          call.write(JSON.stringify({ backups }));
          return;
        }
        if (all.length === 0) call.write(`There are no backups in ${at.name}.`);
        for (const { id, manifest, fault } of all) {
          const rows = manifest?.tables.reduce((sum, table) => sum + table.rows, 0);
          const facts = manifest?.continuous
            ? `Muster ${manifest.version}, continuous from ${manifest.takenAt} to ${(await readSavedUntil(at, manifest)).toISOString()}, master keys ${manifest.masterKeys}`
            : manifest
              ? `Muster ${manifest.version}, ${rows} rows, ${manifest.objects.count} objects, master keys ${manifest.masterKeys}`
              : (fault ?? 'interrupted: it is not complete');
          call.write(`${id}  ${facts}`);
        }
      }),
  },
  verify: {
    usage: '--from PLACE [--backup ID]',
    summary: 'reads a backup as a restore would; the newest one by default',
    about: `${place}\n${openedBy}`,
    options: { from: text, backup: text, ...openOptions },
    run: async (call) => {
      const keys = await readKeys(call);
      await runWithBackupPlace(call, 'from', async (at) => {
        const repository = await Repository.open(at, keys);
        const manifest = await chooseBackup(at, call.text('backup'));
        await verifyBackup(repository, manifest, call.onProgress);
        const content = manifest.continuous
          ? `it can be restored to a time from ${manifest.takenAt} to ${(await readSavedUntil(at, manifest)).toISOString()}`
          : `${manifest.tables.length} tables and ${manifest.objects.count} objects`;
        call.write(`The backup ${manifest.id} is complete and undamaged: ${content}.`);
      });
    },
  },
  restore: {
    usage: '--from PLACE [--backup ID] [--to-time TIME] [--data-dir DIR] [--jobs N]',
    summary: 'restores a backup into an empty target and compares the target with the backup',
    about: `${place}
Restores into a new data folder for npm start (--data-dir), or into the empty database and the bucket that DATABASE_URL
and S3_* specify. The database user must be allowed to create databases: the backup is loaded into a temporary database
that is renamed to the target's name at the end. ${openedBy}
The data folder contains the master keys only if the backup was taken with --with-keys; otherwise set MASTER_KEYS when
you start the service. A continuous backup is restored to its newest state, or to --to-time 2026-11-28T15:00:00Z.`,
    options: { from: text, backup: text, 'to-time': text, 'data-dir': text, jobs: text, ...openOptions },
    run: async (call) => {
      const keys = await readKeys(call);
      await runWithBackupPlace(call, 'from', async (at) => {
        const dataDir = call.text('data-dir');
        const toTime = parseTime(call.text('to-time'));
        const { id, tables, objects, masterKeys, masterKeyIds, continuous } = await restoreBackup({
          place: at,
          keys,
          backup: call.text('backup'),
          toTime,
          dataDir,
          environment: call.environment,
          jobs: parseJobs(call),
          onProgress: call.onProgress,
        });
        const content = continuous
          ? `its state of ${toTime?.toISOString() ?? 'the end of its log'}`
          : `${tables.length} tables, ${objects.count} objects`;
        call.write(`The backup ${id} was restored and verified: ${content}.`);
        if (dataDir && masterKeys === 'left out')
          call.write(
            `The backup has no master keys: set MASTER_KEYS (${masterKeyIds.join(', ')}) to start the service.`,
          );
        if (dataDir) call.write(`Start it with: npm start -- --data-dir ${dataDir}`);
        call.write('It starts no machine, schedule or webhook until you run: muster-admin release');
      });
    },
  },
  prune: {
    usage: '--from PLACE --keep daily=7,weekly=4',
    summary: 'removes all other backups, and the objects that no remaining backup refers to',
    about: `${place}\n--keep accepts last, hourly, daily, weekly, monthly and yearly. daily=7 retains the newest backup of each of the 7 newest days.`,
    options: { from: text, keep: text },
    run: (call) =>
      runWithBackupPlace(call, 'from', async (at) => {
        const keep = parseKeepRule(
          call.text('keep') ?? throwAdminError('--keep is missing, as in --keep daily=7,weekly=4.'),
        );
        const { removed, retained, objects } = await pruneBackups(at, { keep, now: new Date() });
        call.write(`Removed ${removed.length} backups and ${objects} objects; ${retained.length} backups remain.`);
      }),
  },
};

/** Runs until SIGINT or SIGTERM. */
async function backUpContinuously(call: Call, { place: at, keys }: { place: Place; keys: BackupKeys }): Promise<void> {
  const dataDir =
    call.text('data-dir') ??
    throwAdminError(
      '--continuous needs --data-dir, the data folder of a running npm start. For another database, archive its log with its own tools, such as pgBackRest.',
    );
  const stop = new AbortController();
  const abort = () => stop.abort();
  let lastMessage = '';
  process.once('SIGINT', abort).once('SIGTERM', abort);
  try {
    await takeContinuousBackup({
      ...{ place: at, keys, version, withKeys: call.flag('with-keys'), signal: stop.signal },
      open: () => openRunningInstallation(dataDir, call.environment),
      onProgress: call.onProgress,
      onBase: ({ id, takenAt }) =>
        call.write(`Backup ${id} can be restored to any time from ${takenAt} on, as long as this command runs.`),
      onInterruption: ({ message }) => {
        if (message !== lastMessage) call.write(`The backup is interrupted and will be continued: ${message}`);
        lastMessage = message;
      },
    });
  } finally {
    process.off('SIGINT', abort).off('SIGTERM', abort);
  }
}

function parseTime(time: string | undefined): Date | undefined {
  if (time === undefined) return undefined;
  const isValid = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/.test(time);
  const at = new Date(isValid ? time : Number.NaN);
  return Number.isNaN(at.getTime())
    ? throwAdminError('--to-time must be a time with its zone, as in 2026-11-28T15:00:00Z.')
    : at;
}

async function runWithBackupPlace(
  call: Call,
  option: 'to' | 'from',
  work: (at: Place) => Promise<void>,
): Promise<void> {
  const named = call.text(option) ?? throwAdminError(`--${option} is missing: a folder, or s3://bucket/prefix.`);
  const { place: at, close } = openBackupLocation(named, call.environment);
  try {
    await work(at);
  } finally {
    await close();
  }
}

async function readKeys(call: Call): Promise<BackupKeys> {
  const file = call.text('passphrase-file');
  const passphrase = file ? (await readFile(file, 'utf8')).trim() : call.environment['MUSTER_BACKUP_PASSPHRASE'];
  const files = await Promise.all(call.list('identity').map((path) => readFile(path, 'utf8')));
  const identities = files.flatMap((lines) => lines.split('\n').filter((line) => line.startsWith('AGE-SECRET-KEY-')));
  return { passphrase, recipients: call.list('recipient'), identities };
}

function parseJobs(call: Call): number {
  const jobs = Number(call.text('jobs') ?? Math.min(4, availableParallelism()));
  return Number.isInteger(jobs) && jobs >= 1 && jobs <= 32
    ? jobs
    : throwAdminError('--jobs must be a number from 1 to 32.');
}

function throwAdminError(sentence: string): never {
  throw new UsageError(sentence);
}
