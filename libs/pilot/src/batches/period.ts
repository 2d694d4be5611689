/** Days in the organization's time zone, or timestamps. A whole day belongs to the period, also as `to`. */
export interface Period {
  from?: string;
  to?: string;
}

/**
 * Returns the conditions that a timestamp column lies in the period, for a statement whose $1 is the organization. The
 * time zone is read once for the statement, so an index on the column can be used.
 */
export function withinPeriodSql(column: string, { from, to }: Period, values: unknown[]): string[] {
  const parameter = (value: string) => `$${values.push(value)}`;
  return [
    ...(from ? [`${column} >= ${isDay(from) ? startOfDay(`${parameter(from)}::date`) : parameter(from)}`] : []),
    ...(to ? [`${column} < ${isDay(to) ? startOfDay(`${parameter(to)}::date + 1`) : parameter(to)}`] : []),
  ];
}

function startOfDay(day: string): string {
  return `(${day})::timestamp AT TIME ZONE (SELECT timezone FROM organization_settings WHERE organization_id = $1)`;
}

function isDay(text: string): boolean {
  return text.length === 10;
}
