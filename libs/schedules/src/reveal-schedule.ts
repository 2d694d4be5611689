import { openVariables, type Principal } from '@muster/access';
import { hasPermission } from '@muster/contracts';
import type { Database } from '@muster/database';
import type { KeyRing } from '@muster/vault';
import type { ScheduleRow } from './schedule-row';

/** Opens the sealed variables of a schedule for a caller who may see them. Other callers get the row as it is. */
export async function revealSchedule(
  { database, keyRing }: { database: Database; keyRing: KeyRing },
  caller: Principal,
  row: ScheduleRow,
): Promise<ScheduleRow> {
  if (!hasPermission(caller, 'runs.screens')) return row;
  const opened = await openVariables(database, keyRing, caller.organizationId, row.variables);
  return { ...row, variables: { ...row.variables, ...opened } };
}
