import type { Costs } from '@muster/contracts';
import { formatCsvLine } from '@muster/platform';

const columns = ['key', 'label', 'runs', 'aiUsd', 'computeUsd', 'reportedUsd', 'totalUsd'] as const;

/** Formats the groups as CSV for spreadsheets. */
export function formatCostsCsv({ groups }: Pick<Costs, 'groups'>): string {
  const lines = groups.map((group) => formatCsvLine(columns.map((column) => String(group[column]))));
  return formatCsvLine([...columns]) + lines.join('');
}
