import type { BreakGlass } from '@muster/access';
import type { Transaction } from '@muster/database';
import { emitEvent } from '@muster/webhooks';

/** Emits the webhook event about a sign-in by emergency access. */
export function emitBreakGlassEvent(tx: Transaction, { user, secondFactor, address }: BreakGlass): void {
  const { id, organizationId, email } = user;
  const details = { userId: id, email, secondFactor, address };
  emitEvent(tx, { organizationId, type: 'user.break_glass', subjects: [{ id, details }] });
}
