import type { CostGroup, Costs } from '@muster/contracts';

const columns = ['key', 'label', 'runs', 'aiUsd', 'computeUsd', 'reportedUsd', 'totalUsd'] as const;

/** Formats the groups as CSV for spreadsheets. */
export function costsCsv({ groups }: Pick<Costs, 'groups'>): string {
  const lines = groups.map((group: CostGroup) => columns.map((column) => cellOf(group[column])).join(','));
  return [columns.join(','), ...lines, ''].join('\r\n');
}

/** Quotes a value by RFC 4180. An apostrophe turns a text that a spreadsheet would run as a formula into plain text. */
function cellOf(value: string | number): string {
  const text = typeof value === 'string' && /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
