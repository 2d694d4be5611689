/** Days in the organization’s time zone, or times. Both ends are inclusive. */
export interface Period {
  from?: string;
  to?: string;
}

/** SQL conditions that a submission was created in the period. `name` is the alias of its table. */
export function withinPeriodSql({ from, to }: Period, placed: (value: string) => string, name = 's'): string[] {
  const created = `${name}.created_at`;
  const startOfDaySql = (day: string) => `(${day})::timestamp AT TIME ZONE (
    SELECT o.timezone FROM organization_settings o WHERE o.organization_id = ${name}.organization_id)`;
  return [
    ...(from
      ? [`${created} >= ${isDay(from) ? startOfDaySql(`${placed(from)}::date`) : `${placed(from)}::timestamptz`}`]
      : []),
    ...(to && isDay(to) ? [`${created} < ${startOfDaySql(`${placed(to)}::date + 1`)}`] : []),
    // Times are stored in microseconds but shown in milliseconds.
    ...(to && !isDay(to) ? [`${created} < ${placed(to)}::timestamptz + interval '1 millisecond'`] : []),
  ];
}

function isDay(text: string): boolean {
  return text.length === 10;
}
