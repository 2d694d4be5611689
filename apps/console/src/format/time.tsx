import { useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { settingsQuery } from '../api/session';
import { formatDateTime, formatDuration, formatInZone, formatMoment, formatRelative } from './format';

interface TimeProps {
  at: string | null | undefined;
  /** As long ago as it is. */
  relative?: boolean;
  /** By the clock alone, where it is today. */
  short?: boolean;
}

/** A time in the viewer's zone; on hover the whole of it, and the organization's zone. */
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

/** How long something took, or has been going on. */
export function Duration({ from, to, ms }: { from?: string | null; to?: string | null; ms?: number | null }) {
  const now = useNow();
  const length = ms ?? (from ? (to ? Date.parse(to) : now) - Date.parse(from) : null);
  return (
    <span className="whitespace-nowrap tabular-nums">
      {length === null ? '–' : formatDuration(Math.max(0, length))}
    </span>
  );
}

/** How long there is until a moment; it stands out in the last minute. */
export function TimeLeft({ until }: { until: string }) {
  const leftMs = Date.parse(until) - useNow();
  return (
    <time
      dateTime={until}
      title={formatDateTime(until)}
      className={`whitespace-nowrap tabular-nums ${leftMs < 60_000 ? 'font-medium text-warn' : ''}`}
    >
      {leftMs > 0 ? `${formatDuration(leftMs)} left` : 'Its time is over'}
    </time>
  );
}

const tickMs = 1000;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const watchers = new Set<() => void>();

/** One clock for the whole page, which stands while nobody looks at it. */
function useNow(): number {
  return useSyncExternalStore(watch, () => now);
}

function watch(watcher: () => void): () => void {
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
