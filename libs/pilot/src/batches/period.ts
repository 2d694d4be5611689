/** Days in the organization's time zone, or timestamps. A whole day belongs to the period, also as `to`. */
export interface Period {
  from?: string;
  to?: string;
}

/**
 * Returns the conditions that a timestamp column lies in the period, for a statement whose $1 is the organization. The
 * time zone is read once for the statement, so an index on the column can be used.
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
