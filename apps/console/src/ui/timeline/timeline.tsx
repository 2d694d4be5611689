import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { AgentLogEntry } from '../../api/generated';
import { formatDateTime, formatTimeOfDay, formatWeekday } from '../../format/format';
import { Button } from '../button';
import { ErrorNote } from '../error-note';
import { Skeleton } from '../page';
import type { LiveEntries } from './use-live-entries';

const levels: Record<AgentLogEntry['level'], string> = {
  debug: 'text-dim',
  info: 'text-dim',
  warn: 'text-warn',
  error: 'text-bad',
};

/** Distance from an end of the loaded entries, in pixels, at which more are read. */
const roomToScroll = 400;

interface TimelineProps {
  label: string;
  live: LiveEntries;
  /** `data-testid` of the entries. */
  testId: 'timeline-entry' | 'log-line';
  empty: ReactNode;
}

/**
 * A list of events, newest last. At its end it follows new entries. After scrolling up it stays where it is, and loads
 * older entries as the user scrolls to them. Messages are rendered as plain text, never as markup.
 */
export function Timeline({ label, live, testId, empty }: TimelineProps) {
  const { entries, isPending, error, hasOlder, hasNewer, isLoading, loadOlder, loadNewer, jump, look } = live;
  const frame = useRef<HTMLDivElement>(null);
  const [follows, setFollows] = useState(true);
  const inSight = useVirtualizer({
    count: entries.length,
    getScrollElement: () => frame.current,
    estimateSize: () => 22,
    overscan: 20,
    getItemKey: useCallback((at: number) => entries[at]!.id, [entries]),
    // Keeps the visible entries in place while entries above them are added or removed.
    anchorTo: 'end',
  });

  const newest = entries.at(-1)?.id;
  useEffect(() => {
    if (follows && !hasNewer && entries.length > 0) inSight.scrollToIndex(entries.length - 1, { align: 'end' });
  }, [follows, hasNewer, newest, entries.length, inSight]);

  // Scrolls to the top once the oldest entries are loaded.
  const aimsAtTop = useRef(false);
  useLayoutEffect(() => {
    if (!aimsAtTop.current || hasOlder) return;
    aimsAtTop.current = false;
    inSight.scrollToOffset(0);
  });

  // A page of a search can contain few entries, so more pages are read until the list can be scrolled.
  useEffect(() => {
    const { scrollHeight = Infinity, clientHeight = 0 } = frame.current ?? {};
    if (isLoading || error || entries.length === 0 || scrollHeight - clientHeight > roomToScroll) return;
    if (hasOlder) loadOlder();
    else if (hasNewer) loadNewer();
  }, [isLoading, error, entries.length, hasOlder, hasNewer, loadOlder, loadNewer]);

  const handleScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = frame.current!;
    const below = scrollHeight - scrollTop - clientHeight;
    setFollows(below < 40 && !hasNewer);
    if (isLoading) return;
    if (scrollTop < roomToScroll && hasOlder) loadOlder();
    else if (below < roomToScroll && hasNewer) loadNewer();
  };
  const jumpTo = (to: 'oldest' | 'newest') => {
    setFollows(to === 'newest');
    aimsAtTop.current = to === 'oldest';
    if (to === 'oldest' ? hasOlder : hasNewer) jump(to);
  };

  if (isPending) return <Skeleton rows={6} />;
  if (error && entries.length === 0) return <ErrorNote error={error} retry={look} />;
  return (
    <div className="relative">
      {entries.length === 0 && empty}
      <div
        ref={frame}
        role="log"
        aria-label={label}
        aria-live="off"
        tabIndex={0}
        onScroll={handleScroll}
        hidden={entries.length === 0}
        className="max-h-[min(60vh,40rem)] overflow-y-auto rounded-control border border-line bg-sunken/50 font-mono text-xs leading-[1.375rem]"
      >
        <div className="relative w-full" style={{ height: inSight.getTotalSize() }}>
          {inSight.getVirtualItems().map(({ index, key, start }) => (
            <EntryRow
              key={key}
              entry={entries[index]!}
              day={findNewDay(entries, index)}
              index={index}
              start={start}
              measure={inSight.measureElement}
              testId={testId}
            />
          ))}
        </div>
      </div>
      {isLoading && (
        <p className="absolute top-1 right-4 rounded-control bg-surface px-1.5 text-xs text-dim">Loading…</p>
      )}
      {!follows && (
        <div className="absolute right-4 bottom-3 flex gap-2">
          {hasOlder && (
            <Button className="shadow-panel" onClick={() => jumpTo('oldest')}>
              <ArrowUp aria-hidden className="size-4" />
              Oldest
            </Button>
          )}
          <Button className="shadow-panel" onClick={() => jumpTo('newest')}>
            <ArrowDown aria-hidden className="size-4" />
            Newest
          </Button>
        </div>
      )}
    </div>
  );
}

interface EntryProps {
  entry: AgentLogEntry;
  /** Day of the entry, if it differs from the previous entry's day. */
  day: string | undefined;
  index: number;
  start: number;
  measure: (element: HTMLElement | null) => void;
  testId: string;
}

function EntryRow({ entry, day, index, start, measure, testId }: EntryProps) {
  const { kind, level, message, source, timestamp } = entry;
  const isCalm = level === 'info' || level === 'debug';
  return (
    <div
      ref={measure}
      data-index={index}
      className="absolute inset-x-0 top-0"
      style={{ transform: `translateY(${start}px)` }}
    >
      {day !== undefined && <p className="px-2.5 font-semibold text-dim">{day}</p>}
      <div data-testid={testId} className="flex gap-2 px-2.5 hover:bg-picked">
        <time dateTime={timestamp} title={formatDateTime(timestamp)} className="shrink-0 text-dim tabular-nums">
          {formatTimeOfDay(timestamp)}
        </time>
        <span className={`w-11 shrink-0 ${levels[level]} ${isCalm ? 'max-sm:hidden' : ''}`}>{level}</span>
        {kind !== 'execution' && (
          <span className="hidden w-24 shrink-0 truncate text-dim sm:inline" title={source ?? undefined}>
            {kind}
          </span>
        )}
        <span dir="auto" className="min-w-0 grow break-words whitespace-pre-wrap">
          {message}
        </span>
      </div>
    </div>
  );
}

/** Entries only show their time of day, so the first loaded entry and the first one of each day name the day. */
function findNewDay(entries: readonly AgentLogEntry[], index: number): string | undefined {
  const [day, dayBefore] = [entries[index], entries[index - 1]].map(
    (entry) => entry && formatWeekday(Date.parse(entry.timestamp)),
  );
  return day === dayBefore ? undefined : day;
}
