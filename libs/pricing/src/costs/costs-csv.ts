import type { Costs } from '@muster/contracts';
import { csvLine } from '@muster/platform';

const columns = ['key', 'label', 'runs', 'aiUsd', 'computeUsd', 'reportedUsd', 'totalUsd'] as const;

/** Formats the groups as CSV for spreadsheets. */
export function costsCsv({ groups }: Pick<Costs, 'groups'>): string {
  const lines = groups.map((group) => csvLine(columns.map((column) => String(group[column]))));
  return csvLine([...columns]) + lines.join('');
}
