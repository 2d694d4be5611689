/** Range of days in the organization's time zone, or of timestamps. If `to` is a day, the period includes that day. */
export interface Period {
  from?: string;
  to?: string;
}

/**
 * Returns the conditions that a timestamp column lies in the period, for a statement whose $1 is the organization. The
 * time zone is read once for the statement, so an index on the column can be used.
 */
export function withinPeriodSql(column: string, { from, to }: Period, values: unknown[]): string[] {
  const addParameter = (value: string) => `$${values.push(value)}`;
  return [
    ...(from
      ? [
          `${column} >= ${isDayText(from) ? startOfDayInTimezoneSql(`${addParameter(from)}::date`) : addParameter(from)}`,
        ]
      : []),
    ...(to
      ? [`${column} < ${isDayText(to) ? startOfDayInTimezoneSql(`${addParameter(to)}::date + 1`) : addParameter(to)}`]
      : []),
  ];
}

function startOfDayInTimezoneSql(day: string): string {
  return `(${day})::timestamp AT TIME ZONE (SELECT timezone FROM organization_settings WHERE organization_id = $1)`;
}

function isDayText(text: string): boolean {
  return text.length === 10;
}
