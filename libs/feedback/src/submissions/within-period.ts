/** Days in the organization's time zone, or moments. Both ends belong to the period. */
export interface Period {
  from?: string;
  to?: string;
}

/** The conditions that a submission was made in the period, for `FROM feedback_submission s` or another name. */
export function withinPeriod({ from, to }: Period, placed: (value: string) => string, name = 's'): string[] {
  const created = `${name}.created_at`;
  const startOf = (day: string) => `(${day})::timestamp AT TIME ZONE (
    SELECT o.timezone FROM organization_settings o WHERE o.organization_id = ${name}.organization_id)`;
  return [
    ...(from
      ? [`${created} >= ${isDay(from) ? startOf(`${placed(from)}::date`) : `${placed(from)}::timestamptz`}`]
      : []),
    ...(to && isDay(to) ? [`${created} < ${startOf(`${placed(to)}::date + 1`)}`] : []),
    // What is written down to the microsecond is shown to the millisecond.
    ...(to && !isDay(to) ? [`${created} < ${placed(to)}::timestamptz + interval '1 millisecond'`] : []),
  ];
}

function isDay(text: string): boolean {
  return text.length === 10;
}
