/** Days in the organization’s time zone, or times. Both ends are inclusive. */
export interface Period {
  from?: string;
  to?: string;
}

/** Returns the SQL conditions that a submission was created in the period. `name` is the alias of its table. */
export function withinPeriodSql({ from, to }: Period, addParameter: (value: string) => string, name = 's'): string[] {
  const created = `${name}.created_at`;
  const startOfDaySql = (day: string) => `(${day})::timestamp AT TIME ZONE (
    SELECT o.timezone FROM organization_settings o WHERE o.organization_id = ${name}.organization_id)`;
  return [
    ...(from
      ? [
          `${created} >= ${isDayText(from) ? startOfDaySql(`${addParameter(from)}::date`) : `${addParameter(from)}::timestamptz`}`,
        ]
      : []),
    ...(to && isDayText(to) ? [`${created} < ${startOfDaySql(`${addParameter(to)}::date + 1`)}`] : []),
    // The end of the period is extended by a millisecond, because times are stored in microseconds but displayed in
    // milliseconds.
    ...(to && !isDayText(to) ? [`${created} < ${addParameter(to)}::timestamptz + interval '1 millisecond'`] : []),
  ];
}

function isDayText(text: string): boolean {
  return text.length === 10;
}
