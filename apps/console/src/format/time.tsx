import { useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { settingsQuery } from '../api/session';
import { formatDateTime, formatDuration, formatInZone, formatMoment, formatRelative } from './format';

interface TimeProps {
  at: string | null | undefined;
  /** Shows the time relative to now. */
  relative?: boolean;
  /** Shows only the time of day if the time is today. */
  short?: boolean;
}

/** A time in the viewer's zone. The tooltip shows it in full, and in the organization's zone. */
export function Time({ at, relative, short }: TimeProps) {
  const { data: settings } = useQuery(settingsQuery);
  const now = useNow();
  if (!at) return <span className="text-dim">–</span>;
  const there = settings ? `\n${formatInZone(at, settings.timezone)}` : '';
  return (
    <time dateTime={at} title={`${formatDateTime(at)}${there}`} className="whitespace-nowrap tabular-nums">
      {relative ? formatRelative(at, now) : short ? formatMoment(at, now) : formatDateTime(at)}
    </time>
  );
}

/** Duration of something that has ended, or the time since its start. */
export function Duration({ from, to, ms }: { from?: string | null; to?: string | null; ms?: number | null }) {
  const now = useNow();
  const length = ms ?? (from ? (to ? Date.parse(to) : now) - Date.parse(from) : null);
  return (
    <span className="whitespace-nowrap tabular-nums">
      {length === null ? '–' : formatDuration(Math.max(0, length))}
    </span>
  );
}

/** Time left until a deadline, highlighted in the last minute. */
export function TimeLeft({ until }: { until: string }) {
  const leftMs = Date.parse(until) - useNow();
  return (
    <time
      dateTime={until}
      title={formatDateTime(until)}
      className={`whitespace-nowrap tabular-nums ${leftMs < 60_000 ? 'font-medium text-warn' : ''}`}
    >
      {leftMs > 0 ? `${formatDuration(leftMs)} left` : 'Expired'}
    </time>
  );
}

const tickMs = 1000;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const watchers = new Set<() => void>();

/** One timer for the whole page, stopped while no component uses it. */
function useNow(): number {
  return useSyncExternalStore(subscribeToClock, () => now);
}

function subscribeToClock(watcher: () => void): () => void {
  if (!timer) now = Date.now();
  watchers.add(watcher);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of watchers) each();
  }, tickMs);
  return () => {
    watchers.delete(watcher);
    if (watchers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
