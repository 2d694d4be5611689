import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { AgentLogEntry, AgentLogList, TimelineLogsData } from '../../api/generated';
import { onReturn } from '../../live/connection';
import { useThrottled } from '../../live/use-throttled';
import type { TimelineFilters } from './timeline-tools';

type Query = NonNullable<TimelineLogsData['query']>;
type AskedPage = Pick<Query, 'limit' | 'cursor' | 'order'>;

interface Source {
  page: (page: AskedPage) => Promise<AgentLogList>;
  /** The same without what the viewer looks for; null where that is nothing. */
  unfiltered: ((page: AskedPage) => Promise<AgentLogList>) | null;
}

type Read = (known: State | null, source: Source) => Promise<State | null>;

interface State {
  /** Newest last. */
  entries: AgentLogEntry[];
  /** Where what is older goes on. */
  older: string | null;
  /** Not null: what is newest is not among the entries, and nothing is added by itself. */
  newer: string | null;
  /** Of a search: the newest entry that it has looked at, so that what comes later is all that it has to look at. */
  head: string | null;
  /** The cursors that were answered with entries: what is left out of the window is asked for again from there. */
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
  /** Reads its beginning, or its end, in place of what is shown. */
  jump: (to: 'oldest' | 'newest') => void;
  /** Says that something may be new. */
  look: () => void;
}

const pageSize = 200;
const lookEveryMs = 300;
/** A tab's memory is not a log's: about so many are kept, around what is read; the rest is asked for again. */
const keptAtMost = 4000;

/**
 * A window of a timeline. At its end it is kept up to date: a stream says that there is more, and what is more is read
 * with the same filters as the rest, back to what is known, so that nothing is shown twice and nothing is left out.
 */
export function useLiveEntries(
  of: readonly string[],
  filters: TimelineFilters,
  fetchPage: (query: Query) => Promise<AgentLogList>,
): LiveEntries {
  const [state, setState] = useState<State | null>(null);
  const [error, setError] = useState<unknown>();
  const [isLoading, setLoading] = useState(false);
  const current = useRef<State | null>(null);
  const working = useRef<Promise<void>>(Promise.resolve());
  const wanted = useRef(0);
  const name = JSON.stringify([of, filters]);
  const latest = useRef({ filters, fetchPage });
  useEffect(() => {
    latest.current = { filters, fetchPage };
  });

  const put = useCallback((next: State | null) => {
    current.current = next;
    setState(next);
  }, []);

  /** One at a time: the second would read what the first is reading. What is no longer wanted is given up. */
  const work = useCallback(
    (read: Read) => {
      const turn = wanted.current;
      const set = Object.fromEntries(Object.entries(latest.current.filters).filter(([, value]) => value !== ''));
      const unfiltered = (query: Query) =>
        turn === wanted.current ? latest.current.fetchPage(query) : Promise.reject(new GivenUp());
      const page = (query: Query) => unfiltered({ ...query, ...set });
      const source: Source = { page, unfiltered: Object.keys(set).length > 0 ? unfiltered : null };
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
  const look = useThrottled(() => work(readOn), lookEveryMs);
  useEffect(() => {
    wanted.current += 1;
    put(null);
    setError(undefined);
    void work(readOn);
    return () => void (wanted.current += 1);
  }, [name, put, work]);
  useEffect(() => onReturn(look), [look]);

  const load = useCallback(
    (read: Read) => {
      setLoading(true);
      void work(read).finally(() => setLoading(false));
    },
    [work],
  );
  const loadOlder = useCallback(() => load(withOlder), [load]);
  const loadNewer = useCallback(() => load(withNewer), [load]);
  const jump = useCallback((to: 'oldest' | 'newest') => load(to === 'oldest' ? readOldest : readNewest), [load]);

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

/** Reads from the newest entry back to what is known; away from the end nothing is added. */
async function readOn(known: State | null, source: Source): Promise<State> {
  if (!known) return readNewest(known, source);
  if (known.newer) return known;
  if (known.head !== null && source.unfiltered) return searchOn(known, known.head, source);
  const ids = new Set(known.entries.slice(-pageSize * 2).map(({ id }) => id));
  const fresh: AgentLogEntry[] = [];
  const marks = new Map(known.marks);
  let cursor: string | undefined;
  for (;;) {
    const page = await source.page({ limit: pageSize, cursor, order: 'desc' });
    const unseen = page.entries.filter(({ id }) => !ids.has(id));
    fresh.push(...unseen);
    mark(marks, page);
    const met = unseen.length < page.entries.length;
    if (met || page.nextCursor === null) break;
    // So much has come that what is known is far behind.
    if (fresh.length > keptAtMost) return { ...nothing, entries: fresh.reverse(), older: page.nextCursor, marks };
    cursor = page.nextCursor;
  }
  if (fresh.length === 0) return known;
  return withoutOldest({ ...known, entries: [...known.entries, ...fresh.reverse()], marks });
}

/** What is known of a search may be far back: only what has come since is looked at. */
async function searchOn(known: State, from: string, source: Source): Promise<State> {
  const head = await headOf(source);
  if (head === from) return known;
  const ids = new Set(known.entries.slice(-pageSize * 2).map(({ id }) => id));
  const marks = new Map(known.marks);
  const fresh: AgentLogEntry[] = [];
  for (let cursor: string | null = from; cursor !== null;) {
    const page: AgentLogList = await source.page({ limit: pageSize, cursor, order: 'asc' });
    fresh.push(...page.entries.filter(({ id }) => !ids.has(id)));
    mark(marks, page);
    cursor = page.nextCursor;
  }
  return withoutOldest({ ...known, head, entries: [...known.entries, ...fresh], marks });
}

/** Where the newest entry of all stands; null where there is no more than one. */
async function headOf({ unfiltered }: Source): Promise<string | null> {
  return unfiltered && (await unfiltered({ limit: 1, order: 'desc' })).nextCursor;
}

async function withOlder(known: State | null, source: Source): Promise<State | null> {
  if (!known?.older) return known;
  const { fresh, onward, marks } = await readUnseen(known, known.older, 'desc', source);
  return withoutNewest({ ...known, entries: [...fresh.reverse(), ...known.entries], older: onward, marks });
}

async function withNewer(known: State | null, source: Source): Promise<State | null> {
  if (!known?.newer) return known;
  const { fresh, onward, marks } = await readUnseen(known, known.newer, 'asc', source);
  return withoutOldest({ ...known, entries: [...known.entries, ...fresh], newer: onward, marks });
}

const nothing: State = { entries: [], older: null, newer: null, head: null, marks: new Map() };

async function readOldest(_known: State | null, source: Source): Promise<State> {
  const { fresh, onward, marks } = await readUnseen(nothing, undefined, 'asc', source);
  return { ...nothing, entries: fresh, newer: onward, marks };
}

async function readNewest(_known: State | null, source: Source): Promise<State> {
  // Before the search: what comes meanwhile is looked at once more.
  const head = await headOf(source);
  const { fresh, onward, marks } = await readUnseen(nothing, undefined, 'desc', source);
  return { ...nothing, entries: fresh.reverse(), older: onward, head, marks };
}

/** Reads on until something comes that is not known: a search looks at a part of the log at a time. */
async function readUnseen(
  { entries, marks: known }: State,
  from: string | undefined,
  order: 'asc' | 'desc',
  source: Source,
): Promise<{ fresh: AgentLogEntry[]; onward: string | null; marks: Map<string, string> }> {
  const ids = new Set(entries.map(({ id }) => id));
  const marks = new Map(known);
  for (let cursor = from; ;) {
    const page = await source.page({ limit: pageSize, order, ...(cursor ? { cursor } : {}) });
    mark(marks, page);
    const fresh = page.entries.filter(({ id }) => !ids.has(id));
    if (fresh.length > 0 || page.nextCursor === null) return { fresh, onward: page.nextCursor, marks };
    cursor = page.nextCursor;
  }
}

/** A page's cursor stands at its last entry: from there one can go on in either direction. */
function mark(marks: Map<string, string>, { entries, nextCursor }: AgentLogList): void {
  const last = entries.at(-1);
  if (last && nextCursor !== null) marks.set(last.id, nextCursor);
}

/** Leaves out what is older than the window, down to an entry from which one can go on. */
function withoutOldest(state: State): State {
  const { entries, marks } = state;
  if (entries.length <= keptAtMost) return state;
  for (let at = entries.length - keptAtMost; at > 0; at -= 1) {
    const cursor = marks.get(entries[at]!.id);
    if (cursor !== undefined) return pruned({ ...state, entries: entries.slice(at), older: cursor });
  }
  return state;
}

function withoutNewest(state: State): State {
  const { entries, marks } = state;
  if (entries.length <= keptAtMost) return state;
  for (let at = keptAtMost - 1; at < entries.length - 1; at += 1) {
    const cursor = marks.get(entries[at]!.id);
    if (cursor !== undefined) return pruned({ ...state, entries: entries.slice(0, at + 1), newer: cursor });
  }
  return state;
}

function pruned(state: State): State {
  const ids = new Set(state.entries.map(({ id }) => id));
  return { ...state, marks: new Map([...state.marks].filter(([id]) => ids.has(id))) };
}
