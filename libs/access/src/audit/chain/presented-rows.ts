import { createHash } from 'node:crypto';
import type { AccessEntry, AuditEntry } from '@muster/contracts';
import type { AccessRow } from '../list-accesses';
import type { AuditRow } from '../list-audit';
import { toCanonicalJson } from './canonical-json';

/** The two logs whose rows are chained by hashes: the audit trail and the access log. */
export const logs = ['audit', 'access'] as const;
export type LogName = (typeof logs)[number];
export const logTitles = { audit: 'audit trail', access: 'access log' } as const;

/** A row of a log, as its statement reads it. */
export type ChainedRow = (AuditRow | AccessRow) & { digest: Buffer | null };

/** Returns an entry of the audit trail as `GET /api/audit` shows it. */
export function presentAuditEntry(row: AuditRow): AuditEntry {
  const { actorKind: kind, actorId: id, actorEmail } = row;
  return {
    id: row.id,
    at: row.at.toISOString(),
    actor: { kind, id, ...(actorEmail ? { email: actorEmail } : {}) },
    action: row.action,
    target: { type: row.targetType, id: row.targetId },
    changes: row.changes,
    requestId: row.requestId,
  };
}

/** Returns an entry of the access log as `GET /api/access-log` shows it. */
export function presentAccessEntry(row: AccessRow): AccessEntry {
  const { actorKind: kind, actorId: id, actorEmail } = row;
  return {
    id: row.id,
    at: row.at.toISOString(),
    who: { kind, id, ...(actorEmail ? { email: actorEmail } : {}) },
    address: row.address,
    route: row.route,
    subject: { type: row.subjectType, id: row.subjectId },
  };
}

/**
 * The JSON forms in which rows were hashed. A release that changes what the GET routes show adds a form with the next
 * number and leaves the earlier forms unchanged. Each closed day stores the number of its form, so its hash can be
 * verified forever.
 */
const forms: Record<number, Record<LogName, (row: never) => object>> = {
  1: { audit: presentAuditEntry, access: presentAccessEntry },
};
export const currentForm = 1;

/** Returns the RFC 8785 JSON of a row. */
export function formatRowAsJson(log: LogName, row: ChainedRow | AuditRow | AccessRow, form = currentForm): string {
  const present = forms[form]?.[log];
  if (!present)
    throw new Error(`this version of Muster cannot read rows of the format ${form}; verify with a newer version`);
  return toCanonicalJson(present(row as never));
}

/** Returns the digest that the writing process stores with a row. */
export function computeRowDigest(
  log: LogName,
  organizationId: string,
  row: AuditRow | AccessRow,
  form = currentForm,
): Buffer {
  return createHash('sha256')
    .update(`${organizationId}\n${formatRowAsJson(log, row, form)}`)
    .digest();
}

/**
 * Whether the row still has the content that its digest was computed from. The process that wrote the row may have used
 * an older form.
 */
export function matchesStoredDigest(log: LogName, organizationId: string, row: ChainedRow): boolean {
  const { digest } = row;
  return (
    digest !== null &&
    Object.keys(forms).some((form) => computeRowDigest(log, organizationId, row, Number(form)).equals(digest))
  );
}
