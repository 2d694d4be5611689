import type { Transaction } from '@muster/database';

/** Number of days for which an account knows an address after a sign-in from it. */
export const knownAddressDays = 30;

export async function recordSignInAddress(
  tx: Transaction,
  { user, address, now }: { user: { id: string; organizationId: string }; address: string; now: Date },
): Promise<void> {
  await tx.execute(
    `INSERT INTO sign_in_address (user_id, address, organization_id, last_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (user_id, address) DO UPDATE SET last_at = GREATEST(sign_in_address.last_at, excluded.last_at)`,
    [user.id, address, user.organizationId, now],
  );
}

/**
 * Deletes the known addresses when the password changes: a client that knew the old password counts as unknown again.
 */
export async function deleteSignInAddresses(tx: Transaction, userId: string): Promise<void> {
  await tx.execute('DELETE FROM sign_in_address WHERE user_id = $1', [userId]);
}
