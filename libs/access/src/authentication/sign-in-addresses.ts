import type { Transaction } from '@muster/database';

/** For so long an account knows an address that it was signed in to from. */
export const knownAddressDays = 30;

export async function recordAddress(
  tx: Transaction,
  { user, address, now }: { user: { id: string; organizationId: string }; address: string; now: Date },
): Promise<void> {
  await tx.execute(
    `INSERT INTO sign_in_address (user_id, address, organization_id, last_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (user_id, address) DO UPDATE SET last_at = GREATEST(sign_in_address.last_at, excluded.last_at)`,
    [user.id, address, user.organizationId, now],
  );
}

/** With a new password: whoever knew the old one is a stranger again. */
export async function forgetAddresses(tx: Transaction, userId: string): Promise<void> {
  await tx.execute('DELETE FROM sign_in_address WHERE user_id = $1', [userId]);
}
