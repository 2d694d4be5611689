import type { CronRule } from './cron-rule';
import { findNextRun, type NextRun } from './find-next-run';
import { getTimezone } from './timezone';

export type PreviewedRun = NextRun & { local: string };

/**
 * Milliseconds ahead in which runs are searched: enough for 100 runs of a yearly rule. Each further year costs search
 * time.
 */
const horizonMs = 110 * 366 * 24 * 3_600_000;

/**
 * Returns the next runs with the local time in the timezone; fewer than `count` if the others are beyond the horizon.
 */
export function previewRuns(
  rule: CronRule,
  timezone: string,
  { after, count }: { after: Date; count: number },
): PreviewedRun[] {
  const runs: PreviewedRun[] = [];
  let next = findNextRun(rule, timezone, after);
  while (next && runs.length < count && next.at.getTime() - after.getTime() <= horizonMs) {
    runs.push({ ...next, local: formatLocalTime(timezone, next.at) });
    next = findNextRun(rule, timezone, next.at);
  }
  return runs;
}

function formatLocalTime(timezone: string, at: Date): string {
  const offset = getTimezone(timezone).getOffsetAt(at.getTime());
  const minutes = Math.abs(offset) / 60_000;
  const padTwoDigits = (value: number) => String(value).padStart(2, '0');
  const zone = `${offset < 0 ? '-' : '+'}${padTwoDigits(Math.floor(minutes / 60))}:${padTwoDigits(minutes % 60)}`;
  return `${new Date(at.getTime() + offset).toISOString().slice(0, 19)}${zone}`;
}
