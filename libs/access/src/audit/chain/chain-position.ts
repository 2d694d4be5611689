import type { AuditChainEntity, Database, Scope } from '@muster/database';

export type ChainPosition = Omit<AuditChainEntity, 'oneRow' | 'digestsFrom'>;

/** Returns the position of the chains of both logs: up to which day they are closed, and up to which rows linked. */
export async function readChainPosition(database: Database, scope: Scope): Promise<ChainPosition> {
  const [position] = await database.query<ChainPosition>(
    scope,
    `SELECT closed_before, closing_before, fence, audit_linked_to, access_linked_to, audit_kept_from, access_kept_from
     FROM audit_chain`,
    [],
    'audit_chain_position',
  );
  return position!;
}
