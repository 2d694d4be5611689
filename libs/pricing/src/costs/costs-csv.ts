import type { CostGroup, Costs } from '@muster/contracts';

const columns = ['key', 'label', 'runs', 'aiUsd', 'computeUsd', 'reportedUsd', 'totalUsd'] as const;

/** The groups as a table, for spreadsheets. */
export function costsCsv({ groups }: Pick<Costs, 'groups'>): string {
  const lines = groups.map((group: CostGroup) => columns.map((column) => cellOf(group[column])).join(','));
  return [columns.join(','), ...lines, ''].join('\r\n');
}

/** RFC 4180; and what a spreadsheet would run is made a text by an apostrophe. */
function cellOf(value: string | number): string {
  const text = typeof value === 'string' && /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
