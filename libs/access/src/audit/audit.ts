import { isDeepStrictEqual } from 'node:util';
import type { ActorKind } from '@muster/contracts';
import type { RowStatement, Transaction } from '@muster/database';
import { getRequestContext, newId } from '@muster/platform';
import { computeRowDigest } from './chain/presented-rows';
import type { Principal } from '../principal';

export interface AuditRecord<Changes = Record<string, unknown>> {
  action: string;
  target: { type: string; id: string };
  /**
   * The changed fields with the names and units of the API: [before, after] for a change, the value alone for a new
   * object. Contains no secrets.
   */
  changes?: Changes & NamesOfApi<Changes>;
  /** The organization whose audit trail gets the row; the actor's own by default. */
  organizationId?: string;
}

/**
 * Makes a changed field with the name of a database column (with “micros” or an underscore) a compile error, because
 * readers of an audit row know only the names of the API.
 */
type NamesOfApi<Changes> = {
  [Name in keyof Changes]: Name extends `${string}${'Micros' | 'micros' | '_'}${string}` ? never : Changes[Name];
};

export interface Actor {
  kind: ActorKind;
  id: string;
  email?: string;
  organizationId: string;
}

const audited = new WeakSet<Transaction>();

/**
 * Adds a row to the audit trail, in the transaction of the change. If the day of the transaction is closed before its
 * commit, the transaction runs again.
 */
export function audit<Changes extends object>(
  tx: Transaction,
  actor: Actor | Principal,
  record: AuditRecord<Changes>,
): void {
  const { action, target, changes = {}, organizationId = actor.organizationId } = record;
  const email = 'email' in actor ? (actor.email ?? null) : null;
  const id = newId();
  const requestId = getRequestContext()?.requestId ?? null;
  const changesText = JSON.stringify(changes);
  const digest = computeRowDigest('audit', organizationId, {
    ...{ id, at: tx.now, actorKind: actor.kind, actorId: actor.id, actorEmail: email, action, requestId },
    ...{ targetType: target.type, targetId: target.id, changes: JSON.parse(changesText) as Record<string, unknown> },
  });
  tx.deferRow(auditRows, [
    ...[id, organizationId, actor.kind, actor.id, email, action, target.type, target.id, changesText, requestId],
    ...[digest, tx.now],
  ]);
  audited.add(tx);
}

const auditRows: RowStatement = {
  many: {
    name: 'audit',
    text: `INSERT INTO audit_entry
       (id, organization_id, actor_kind, actor_id, actor_email, action, target_type, target_id, changes, request_id,
        digest, at)
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
       $9::jsonb[], $10::text[], $11::bytea[], $12::timestamptz[])
     WHERE require_open_audit_day(muster_now())`,
  },
};

export function hasAuditEntry(tx: Transaction): boolean {
  return audited.has(tx);
}

/** Returns the fields that differ as [before, after]; fields that `after` leaves undefined are unchanged. */
export function listChangedFields<After extends object>(
  before: { [Name in keyof After]?: unknown },
  after: After,
): { [Name in keyof After]?: [unknown, unknown] } {
  return Object.fromEntries(
    Object.entries(after)
      .filter(([name, value]) => value !== undefined && !isDeepStrictEqual(value, before[name as keyof After]))
      .map(([name, value]) => [name, [before[name as keyof After], value]]),
  ) as { [Name in keyof After]?: [unknown, unknown] };
}
