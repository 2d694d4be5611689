import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { AgentLogEntry, AgentLogList, TimelineLogsData } from '../../api/generated';
import { onReconnect } from '../../live/connection';
import { useThrottled } from '../../live/use-throttled';
import type { TimelineFilters } from './timeline-tools';

type Query = NonNullable<TimelineLogsData['query']>;
type AskedPage = Pick<Query, 'limit' | 'cursor' | 'order'>;

interface Source {
  page: (page: AskedPage) => Promise<AgentLogList>;
  /** Reads a page without the search and filters; null if neither is set. */
  unfiltered: ((page: AskedPage) => Promise<AgentLogList>) | null;
}

type Read = (known: State | null, source: Source) => Promise<State | null>;

interface State {
  /** Loaded entries, the newest last. */
  entries: AgentLogEntry[];
  /** Cursor of the next older entries; null if there are none. */
  older: string | null;
  /** Cursor of the next newer entries. While it is set, the newest entries are missing and none are added live. */
  newer: string | null;
  /** Cursor of the newest entry that a search has read, so that it continues with later entries only. */
  head: string | null;
  /** Cursors by entry id, from which entries that were dropped from the window can be read again. */
  marks: ReadonlyMap<string, string>;
}

export interface LiveEntries {
  entries: AgentLogEntry[];
  isPending: boolean;
  error: unknown;
  hasOlder: boolean;
  hasNewer: boolean;
  isLoading: boolean;
  loadOlder: () => void;
  loadNewer: () => void;
  /** Replaces the entries with the oldest or the newest ones. */
  jump: (to: 'oldest' | 'newest') => void;
  /** Reads new entries; call it when there may be some. */
  look: () => void;
}

const pageSize = 200;
const lookEveryMs = 300;
/** Approximate number of entries to keep in memory; dropped entries are read again when needed. */
const maxKeptEntries = 4000;

/**
 * A window of a timeline's entries. At the end of the timeline it is updated live. `look` reads the new entries with
 * the same filters, back to the entries that are already loaded, so that no entry is shown twice or missing.
 */
export function useLiveEntries(
  timelineKey: readonly string[],
  filters: TimelineFilters,
  fetchPage: (query: Query) => Promise<AgentLogList>,
): LiveEntries {
  const [state, setState] = useState<State | null>(null);
  const [error, setError] = useState<unknown>();
  const [isLoading, setLoading] = useState(false);
  const current = useRef<State | null>(null);
  const working = useRef<Promise<void>>(Promise.resolve());
  const wanted = useRef(0);
  const name = JSON.stringify([timelineKey, filters]);
  const latest = useRef({ filters, fetchPage });
  useEffect(() => {
    latest.current = { filters, fetchPage };
  });

  const put = useCallback((next: State | null) => {
    current.current = next;
    setState(next);
  }, []);

  /** Runs one read at a time, because concurrent ones would load the same entries. Outdated reads are discarded. */
  const work = useCallback(
    (read: Read) => {
      const turn = wanted.current;
      const set = Object.fromEntries(Object.entries(latest.current.filters).filter(([, value]) => value !== ''));
      const fetchUnfiltered = (query: Query) =>
        turn === wanted.current ? latest.current.fetchPage(query) : Promise.reject(new GivenUp());
      const fetchFilteredPage = (query: Query) => fetchUnfiltered({ ...query, ...set });
      const source: Source = {
        page: fetchFilteredPage,
        unfiltered: Object.keys(set).length > 0 ? fetchUnfiltered : null,
      };
      working.current = working.current.then(async () => {
        try {
          if (turn !== wanted.current) return;
          const known = current.current;
          const next = await read(known, source);
          if (turn !== wanted.current) return;
          setError(undefined);
          if (next !== known) put(next);
        } catch (thrown) {
          if (turn === wanted.current) setError(thrown);
        }
      });
      return working.current;
    },
    [put],
  );
  const look = useThrottled(() => work(readNewEntries), lookEveryMs);
  useEffect(() => {
    wanted.current += 1;
    put(null);
    setError(undefined);
    void work(readNewEntries);
    return () => void (wanted.current += 1);
  }, [name, put, work]);
  useEffect(() => onReconnect(look), [look]);

  const load = useCallback(
    (read: Read) => {
      setLoading(true);
      void work(read).finally(() => setLoading(false));
    },
    [work],
  );
  const loadOlder = useCallback(() => load(prependOlderEntries), [load]);
  const loadNewer = useCallback(() => load(appendNewerEntries), [load]);
  const jump = useCallback(
    (to: 'oldest' | 'newest') => load(to === 'oldest' ? readOldestEntries : readNewestEntries),
    [load],
  );

  return useMemo(
    () => ({
      entries: state?.entries ?? [],
      isPending: state === null && error === undefined,
      error,
      hasOlder: Boolean(state?.older),
      hasNewer: Boolean(state?.newer),
      isLoading,
      loadOlder,
      loadNewer,
      jump,
      look,
    }),
    [state, error, isLoading, loadOlder, loadNewer, jump, look],
  );
}

class GivenUp extends Error {}

/** Reads from the newest entry back to the loaded ones. Does nothing if the window is not at the timeline's end. */
async function readNewEntries(known: State | null, source: Source): Promise<State> {
  if (!known) return readNewestEntries(known, source);
  if (known.newer) return known;
  if (known.head !== null && source.unfiltered) return continueSearch(known, known.head, source);
  const ids = new Set(known.entries.slice(-pageSize * 2).map(({ id }) => id));
  const newEntries: AgentLogEntry[] = [];
  const marks = new Map(known.marks);
  let cursor: string | undefined;
  for (;;) {
    const page = await source.page({ limit: pageSize, cursor, order: 'desc' });
    const unseen = page.entries.filter(({ id }) => !ids.has(id));
    newEntries.push(...unseen);
    saveCursorMark(marks, page);
    const met = unseen.length < page.entries.length;
    if (met || page.nextCursor === null) break;
    // There are too many new entries to keep the old ones too, so the window restarts with the new ones.
    if (newEntries.length > maxKeptEntries)
      return { ...nothing, entries: newEntries.reverse(), older: page.nextCursor, marks };
    cursor = page.nextCursor;
  }
  if (newEntries.length === 0) return known;
  return dropOldestEntries({ ...known, entries: [...known.entries, ...newEntries.reverse()], marks });
}

/** Continues a search after the newest entry that it has read and not after the last match, which can be much older. */
async function continueSearch(known: State, from: string, source: Source): Promise<State> {
  const head = await readNewestId(source);
  if (head === from) return known;
  const ids = new Set(known.entries.slice(-pageSize * 2).map(({ id }) => id));
  const marks = new Map(known.marks);
  const newEntries: AgentLogEntry[] = [];
  for (let cursor: string | null = from; cursor !== null;) {
    const page: AgentLogList = await source.page({ limit: pageSize, cursor, order: 'asc' });
    newEntries.push(...page.entries.filter(({ id }) => !ids.has(id)));
    saveCursorMark(marks, page);
    cursor = page.nextCursor;
  }
  return dropOldestEntries({ ...known, head, entries: [...known.entries, ...newEntries], marks });
}

/** Cursor of the newest entry without filters; null if there is at most one entry. */
async function readNewestId({ unfiltered }: Source): Promise<string | null> {
  return unfiltered && (await unfiltered({ limit: 1, order: 'desc' })).nextCursor;
}

async function prependOlderEntries(known: State | null, source: Source): Promise<State | null> {
  if (!known?.older) return known;
  const { newEntries, onward, marks } = await readUnseenEntries(known, known.older, 'desc', source);
  return dropNewestEntries({ ...known, entries: [...newEntries.reverse(), ...known.entries], older: onward, marks });
}

async function appendNewerEntries(known: State | null, source: Source): Promise<State | null> {
  if (!known?.newer) return known;
  const { newEntries, onward, marks } = await readUnseenEntries(known, known.newer, 'asc', source);
  return dropOldestEntries({ ...known, entries: [...known.entries, ...newEntries], newer: onward, marks });
}

const nothing: State = { entries: [], older: null, newer: null, head: null, marks: new Map() };

async function readOldestEntries(_known: State | null, source: Source): Promise<State> {
  const { newEntries, onward, marks } = await readUnseenEntries(nothing, undefined, 'asc', source);
  return { ...nothing, entries: newEntries, newer: onward, marks };
}

async function readNewestEntries(_known: State | null, source: Source): Promise<State> {
  // This cursor is read before the search, so that entries that arrive during the search are read by the next one.
  const head = await readNewestId(source);
  const { newEntries, onward, marks } = await readUnseenEntries(nothing, undefined, 'desc', source);
  return { ...nothing, entries: newEntries.reverse(), older: onward, head, marks };
}

/** Reads pages until one contains an entry that is not loaded. Pages of a search can be empty before its end. */
async function readUnseenEntries(
  { entries, marks: known }: State,
  from: string | undefined,
  order: 'asc' | 'desc',
  source: Source,
): Promise<{ newEntries: AgentLogEntry[]; onward: string | null; marks: Map<string, string> }> {
  const ids = new Set(entries.map(({ id }) => id));
  const marks = new Map(known);
  for (let cursor = from; ;) {
    const page = await source.page({ limit: pageSize, order, ...(cursor ? { cursor } : {}) });
    saveCursorMark(marks, page);
    const newEntries = page.entries.filter(({ id }) => !ids.has(id));
    if (newEntries.length > 0 || page.nextCursor === null) return { newEntries, onward: page.nextCursor, marks };
    cursor = page.nextCursor;
  }
}

/** Saves a page's cursor. It is the position of the page's last entry, and can be read from in both directions. */
function saveCursorMark(marks: Map<string, string>, { entries, nextCursor }: AgentLogList): void {
  const last = entries.at(-1);
  if (last && nextCursor !== null) marks.set(last.id, nextCursor);
}

/**
 * Removes the oldest entries if there are more than the window's size. Only entries before one with a stored cursor are
 * removed, so that they can be read again.
 */
function dropOldestEntries(state: State): State {
  const { entries, marks } = state;
  if (entries.length <= maxKeptEntries) return state;
  for (let at = entries.length - maxKeptEntries; at > 0; at -= 1) {
    const cursor = marks.get(entries[at]!.id);
    if (cursor !== undefined) return pruneMarks({ ...state, entries: entries.slice(at), older: cursor });
  }
  return state;
}

function dropNewestEntries(state: State): State {
  const { entries, marks } = state;
  if (entries.length <= maxKeptEntries) return state;
  for (let at = maxKeptEntries - 1; at < entries.length - 1; at += 1) {
    const cursor = marks.get(entries[at]!.id);
    if (cursor !== undefined) return pruneMarks({ ...state, entries: entries.slice(0, at + 1), newer: cursor });
  }
  return state;
}

function pruneMarks(state: State): State {
  const ids = new Set(state.entries.map(({ id }) => id));
  return { ...state, marks: new Map([...state.marks].filter(([id]) => ids.has(id))) };
}
