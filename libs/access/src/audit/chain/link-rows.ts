import { createHash } from 'node:crypto';
import { type Database, type Transaction, tryAdvisoryLock } from '@muster/database';
import { smallestIdAt, newId } from '@muster/platform';
import { formatUtcDay } from './days';
import { type ChainedRow, matchesStoredDigest, type LogName, logs } from './presented-rows';

/**
 * Time in ms by which the id of a new row may precede ids that are linked already. Ids are created before the commit,
 * so rows may be committed in another order. A row that is committed even later is not linked; its digest and the hash
 * of its day protect it.
 */
const lateMs = 2 * 60_000;
const maxRows = 2000;

/**
 * Adds the new rows of both logs to the chains of their open days. If there were no new rows for some minutes, only one
 * statement runs. Rows that the service did not write are left out, and `verifyAuditLogs` reports them.
 */
export async function linkNewAuditRows(database: Database): Promise<{ linked: number }> {
  const [due] = await database.query<Record<LogName, boolean>>(
    'system',
    `SELECT audit_linked_to > $1 OR EXISTS (SELECT FROM audit_entry WHERE id > audit_linked_to) AS audit,
            access_linked_to > $1 OR EXISTS (SELECT FROM access_entry WHERE id > access_linked_to) AS access
     FROM audit_chain`,
    // A row with a lower id than the newest one may still be committed.
    [smallestIdAt(new Date(parseTimeOfId(newId()) - lateMs))],
    'audit_chain_due',
  );
  let linked = 0;
  for (const log of logs) {
    if (!due![log]) continue;
    for (let rows = maxRows; rows === maxRows;) {
      rows = await database.transaction('system', (tx) => linkPageOfRows(tx, log));
      linked += rows;
    }
  }
  return { linked };
}

type OpenRow = ChainedRow & { organizationId: string };

async function linkPageOfRows(tx: Transaction, log: LogName): Promise<number> {
  if (!(await tryAdvisoryLock(tx, 'audit chain', log))) return 0;
  const linkedTo = log === 'audit' ? 'audit_linked_to' : 'access_linked_to';
  const [position] = await tx.query<{ linkedTo: string }>(`SELECT ${linkedTo} AS linked_to FROM audit_chain`);
  const from = smallestIdAt(new Date(parseTimeOfId(position!.linkedTo) - lateMs));
  const found = await tx.query<OpenRow>(
    `SELECT e.* FROM ${log === 'audit' ? 'audit_entry' : 'access_entry'} e, audit_chain c
     WHERE e.id >= $1 AND e.digest IS NOT NULL AND e.at >= coalesce(c.closed_before, '-infinity')
       AND e.id NOT IN (SELECT unnest(l.ids) FROM audit_link l WHERE l.log = $2 AND l.last_id >= $1)
       AND EXISTS (SELECT FROM organization o WHERE o.id = e.organization_id)
     ORDER BY e.id LIMIT ${maxRows}`,
    [from, log],
  );
  const rows = found.filter((row) => matchesStoredDigest(log, row.organizationId, row));
  if (rows.length > 0) await insertChainLinks(tx, log, rows);
  const last = rows.at(-1)?.id;
  if (last && last > position!.linkedTo) await tx.execute(`UPDATE audit_chain SET ${linkedTo} = $1`, [last]);
  return rows.length;
}

async function insertChainLinks(tx: Transaction, log: LogName, rows: OpenRow[]): Promise<void> {
  const groups = new Map<string, OpenRow[]>();
  for (const row of rows) {
    const key = `${row.organizationId} ${formatUtcDay(row.at)}`;
    groups.set(key, groups.get(key) ?? []);
    groups.get(key)!.push(row);
  }
  const keys = [...groups.keys()].map((key) => key.split(' ') as [organizationId: string, day: string]);
  const heads = await tx.query<{ organizationId: string; day: string; seq: number; hash: Buffer }>(
    `SELECT k.organization_id, k.day::text AS day, l.seq, l.hash
     FROM unnest($2::uuid[], $3::date[]) AS k (organization_id, day)
     CROSS JOIN LATERAL (SELECT seq, hash FROM audit_link l
       WHERE l.organization_id = k.organization_id AND l.log = $1 AND l.day = k.day ORDER BY seq DESC LIMIT 1) l`,
    [log, keys.map(([organizationId]) => organizationId), keys.map(([, day]) => day)],
  );
  for (const [organizationId, day] of keys) {
    const group = groups.get(`${organizationId} ${day}`)!;
    const head = heads.find((one) => one.organizationId === organizationId && one.day === day);
    const digests = Buffer.concat(group.map(({ digest }) => digest!));
    const ids = group.map(({ id }) => id);
    tx.deferStatement(
      `INSERT INTO audit_link (organization_id, log, day, seq, ids, digests, last_id, hash)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        ...[organizationId, log, day, (head?.seq ?? 0) + 1, ids, digests, ids.at(-1)],
        computeLinkHash(head?.hash ?? null, ids, digests),
      ],
      'audit_link_insert',
    );
  }
}

/** Returns the hash of a link: over the hash of the link before, and the ids and digests of its rows. */
export function computeLinkHash(previous: Buffer | null, ids: readonly string[], digests: Buffer): Buffer {
  const hash = createHash('sha256');
  if (previous) hash.update(previous);
  return hash.update(ids.join('\n')).update(digests).digest();
}

function parseTimeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
