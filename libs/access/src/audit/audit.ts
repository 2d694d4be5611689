import type { ActorKind } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { currentContext, newId } from '@muster/platform';
import type { Principal } from '../principal';

export interface AuditRecord {
  action: string;
  target: { type: string; id: string };
  /** What changed, each as [before, after] or as a plain value; never a secret. */
  changes?: Record<string, unknown>;
  /** The organization whose trail it belongs to; the actor's own unless said. */
  organizationId?: string;
}

export interface Actor {
  kind: ActorKind;
  id: string;
  email?: string;
  organizationId: string;
}

const audited = new WeakSet<Transaction>();

/** Leaves a row in the audit trail, in the transaction of what it tells. */
export function audit(tx: Transaction, actor: Actor | Principal, record: AuditRecord): void {
  const { action, target, changes = {}, organizationId = actor.organizationId } = record;
  const email = 'email' in actor ? (actor.email ?? null) : null;
  tx.defer(
    `INSERT INTO audit_entry
       (id, organization_id, actor_kind, actor_id, actor_email, action, target_type, target_id, changes, request_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      newId(),
      organizationId,
      actor.kind,
      actor.id,
      email,
      action,
      target.type,
      target.id,
      JSON.stringify(changes),
      currentContext()?.requestId ?? null,
    ],
    'audit',
  );
  audited.add(tx);
}

export function wasAudited(tx: Transaction): boolean {
  return audited.has(tx);
}

/** The fields that differ, as [before, after]. */
export function changesBetween<T extends object>(before: T, after: Partial<T>): Record<string, [unknown, unknown]> {
  return Object.fromEntries(
    Object.entries(after)
      .filter(([key, value]) => value !== undefined && value !== before[key as keyof T])
      .map(([key, value]) => [key, [before[key as keyof T] as unknown, value]]),
  );
}
