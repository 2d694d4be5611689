import type { Client } from 'pg';
import { AdminError } from '../admin-error';
import { queryRows } from '../backup/dump-database';
import { readServerFile } from './read-server-file';

const chunkBytes = 4 * 1024 * 1024;

/** Header of a record of a base backup. The record's bytes follow the line with the header. */
export interface BaseRecord {
  path: string;
  isFolder?: true;
  from: number;
  length: number;
}

/**
 * Reads the files of a running server. Postgres writes whole pages to its log meanwhile, so a file may change while it
 * is read: the log repairs it. The last record is the backup's label, which names the position from which the log is
 * replayed.
 */
export async function* readBase(
  client: Client,
  { onStart, onProgress }: { onStart: (position: string) => void; onProgress: (line: string) => void },
): AsyncGenerator<Buffer> {
  const [{ start }] = await queryRows<{ start: string }>(
    client,
    `SELECT pg_backup_start('muster-admin', fast => true)::text AS start`,
  );
  onStart(start);
  const files = await queryRows<{ path: string; size: string | null; isdir: boolean | null }>(client, listFiles);
  const total = files.reduce((sum, { size }) => sum + Number(size ?? 0), 0);
  let done = 0;
  for (const { path, size, isdir } of files) {
    if (isdir === null) continue;
    if (path.startsWith('pg_tblspc/'))
      throw new AdminError('The database has tablespaces, which a continuous backup cannot save.');
    if (isExcluded(path)) continue;
    if (isdir) yield formatRecord({ path, isFolder: true, from: 0, length: 0 });
    else yield* readFile(client, path, Number(size));
    done += Number(size ?? 0);
    onProgress(`base backup: ${Math.floor((100 * done) / Math.max(1, total))} %`);
  }
  const [{ label }] = await queryRows<{ label: string }>(
    client,
    'SELECT labelfile AS label FROM pg_backup_stop(wait_for_archive => false)',
  );
  const content = Buffer.from(label);
  yield formatRecord({ path: 'backup_label', from: 0, length: content.length });
  yield content;
}

async function* readFile(client: Client, path: string, size: number): AsyncGenerator<Buffer> {
  // An empty file has a record too.
  for (let from = 0; from === 0 || from < size; from += chunkBytes) {
    const content = await readServerFile(client, path, { from, length: Math.min(chunkBytes, size - from) });
    if (!content) return;
    yield formatRecord({ path, from, length: content.length });
    yield content;
    if (content.length < chunkBytes) return;
  }
}

function formatRecord(record: BaseRecord): Buffer {
  return Buffer.from(`${JSON.stringify(record)}\n`);
}

/** Folders whose files Postgres creates again at its start, or that belong to the log. */
const emptyFolders = /^(pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\//;
const excludedNames =
  /^(postmaster\.(pid|opts)|backup_label|tablespace_map|postgresql\.auto\.conf\.tmp|pg_internal\.init.*|pgsql_tmp.*)$/;

function isExcluded(path: string): boolean {
  return emptyFolders.test(path) || path.split('/').some((part) => excludedNames.test(part));
}

const listFiles = `
  WITH RECURSIVE file (path, size, isdir) AS (
    SELECT name, stat.size, stat.isdir
    FROM pg_ls_dir('.', true, false) AS name, pg_stat_file(name, true) AS stat
    UNION ALL
    SELECT parent.path || '/' || name, stat.size, stat.isdir
    FROM file AS parent, pg_ls_dir(parent.path, true, false) AS name,
      pg_stat_file(parent.path || '/' || name, true) AS stat
    WHERE parent.isdir)
  -- The control file is read last: it is newer than every page.
  SELECT path, size, isdir FROM file ORDER BY path = 'global/pg_control', path`;
