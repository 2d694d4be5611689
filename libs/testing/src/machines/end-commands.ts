import { endCommandsOfTerminated } from '@muster/commands';
import type { LifecycleSource } from '@muster/contracts';
import type { Transaction } from '@muster/database';

/**
 * Ends the commands of a terminated agent as the apps do. The lib `machines` is below `commands` and cannot import it.
 */
export function endCommands(
  tx: Transaction,
  agentRef: { organizationId: string; agentId: string },
  source: LifecycleSource = 'watchdog',
): Promise<void> {
  return endCommandsOfTerminated(tx, agentRef, source);
}
