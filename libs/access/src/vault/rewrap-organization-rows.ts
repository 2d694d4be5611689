import type { Database, OrganizationSsoEntity, Transaction, ValueKeyEntity } from '@muster/database';
import { type Round, sweepRows, type SweepCounts } from '@muster/platform';
import { type Envelope, type KeyRing, rewrapEnvelope } from '@muster/vault';

type Row = ValueKeyEntity | OrganizationSsoEntity;

interface SealedTable {
  /** Name of this rewrapping in the report of its loop. */
  name: string;
  /** Table with one sealed row for each organization. */
  table: 'value_key' | 'organization_sso';
  /** Statement that stores the rewrapped key: organization, id of the master key, wrapped key. */
  update: string;
  /** Returns the text that names a row in an error message. */
  row: string;
  buildAssociatedData: (organizationId: string) => string;
}

/** Rewraps the rows of a table with the active master key, so that an old master key can be removed from the ring. */
export function rewrapOrganizationRows(
  database: Database,
  keyRing: KeyRing,
  round: Round,
  sealedTable: SealedTable,
): Promise<SweepCounts<'rewrapped'>> {
  const { name, table, row } = sealedTable;
  type Key = Pick<Row, 'organizationId'>;
  return sweepRows(round, {
    name,
    outcomes: ['rewrapped'],
    candidates: (after: Key | null, limit) =>
      database.query<Key & object>(
        'system',
        `SELECT organization_id FROM ${table}
         WHERE master_key_id <> $1 AND ($2::uuid IS NULL OR organization_id > $2) ORDER BY organization_id LIMIT $3`,
        [keyRing.activeKey.id, after?.organizationId ?? null, limit],
      ),
    settle: ({ organizationId }) =>
      database.transaction({ organizationId }, (tx) => rewrapOrganizationRow(tx, keyRing, organizationId, sealedTable)),
    rowOf: ({ organizationId }) => `${row} of organization ${organizationId}`,
  });
}

async function rewrapOrganizationRow(
  tx: Transaction,
  keyRing: KeyRing,
  organizationId: string,
  { table, update, buildAssociatedData }: SealedTable,
) {
  const [row] = await tx.query<Envelope & object>(
    `SELECT master_key_id, wrapped_key, sealed FROM ${table} WHERE organization_id = $1 FOR UPDATE SKIP LOCKED`,
    [organizationId],
  );
  const rewrapped = row && rewrapEnvelope(keyRing, buildAssociatedData(organizationId), row);
  if (!rewrapped) return null;
  await tx.execute(update, [organizationId, rewrapped.masterKeyId, rewrapped.wrappedKey]);
  return 'rewrapped' as const;
}
