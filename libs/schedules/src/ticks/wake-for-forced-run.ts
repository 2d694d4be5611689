import { type AccountRequest, type ConcurrencyKey, maskVariables } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { decideWakesForRuns, findBusyKeysAndPools, lockWakesOfOrganization } from '@muster/jobs';
import { requestWake } from '@muster/machines';
import type { ScheduleRow } from '../schedule-row';

/**
 * Wakes the agent of a run that a user requested, also if auto-wake is off. For a schedule with a target, wakes an agent
 * that fits, unless one is idle or boots already.
 */
export async function wakeForForcedRun(
  tx: Transaction,
  schedule: ScheduleRow,
  { now, timeoutMs }: { now: Date; timeoutMs: number },
): Promise<void> {
  const { organizationId, name } = schedule;
  const agentId = schedule.agentId ?? (await findAgentToWake(tx, schedule, now));
  if (!agentId) return;
  const reason = `a run of ${name} was requested`;
  await requestWake(tx, { organizationId, agentId, source: 'schedule', reason, timeoutMs });
}

async function findAgentToWake(tx: Transaction, schedule: ScheduleRow, now: Date): Promise<string | null> {
  const { id, organizationId, targetLabels } = schedule;
  // Sealed variables are not opened, because a concurrency key contains none.
  const variables = maskVariables(schedule.variables);
  const [workflow] = await tx.query<{ keys: ConcurrencyKey[] | null; accounts: AccountRequest[] | null }>(
    'SELECT concurrency_keys AS keys, accounts FROM workflow WHERE id = $1 AND organization_id = $2',
    [schedule.scriptId, organizationId],
    'guards_of_workflow',
  );
  const keys = [...schedule.concurrencyKeys, ...(workflow?.keys ?? [])];
  const accounts = [...schedule.accounts, ...(workflow?.accounts ?? [])];
  const { fullKeys, busyPool } = await findBusyKeysAndPools(tx, organizationId, { keys, accounts, variables });
  // A run that waits for a key or an account wakes no machine.
  if (!targetLabels || fullKeys.length || busyPool !== null) return null;
  await lockWakesOfOrganization(tx, organizationId);
  const [wake] = await decideWakesForRuns(tx, organizationId, { runs: [{ id, labels: targetLabels, at: now }], now });
  return wake?.agentId ?? null;
}
