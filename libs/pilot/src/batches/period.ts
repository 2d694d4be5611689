/** Days in the organization's time zone, or moments; of a day all of it belongs to the period. */
export interface Period {
  from?: string;
  to?: string;
}

/**
 * The condition that a column of moments lies in the period, for a statement whose $1 is the organization. The zone is
 * read once for the statement, so an index on the column serves.
 */
export function withinPeriod(column: string, { from, to }: Period, values: unknown[]): string[] {
  const placed = (value: string) => `$${values.push(value)}`;
  return [
    ...(from ? [`${column} >= ${isDay(from) ? startOfDay(`${placed(from)}::date`) : placed(from)}`] : []),
    ...(to ? [`${column} < ${isDay(to) ? startOfDay(`${placed(to)}::date + 1`) : placed(to)}`] : []),
  ];
}

function startOfDay(day: string): string {
  return `(${day})::timestamp AT TIME ZONE (SELECT timezone FROM organization_settings WHERE organization_id = $1)`;
}

function isDay(text: string): boolean {
  return text.length === 10;
}
