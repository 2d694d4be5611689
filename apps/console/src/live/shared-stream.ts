import { EventStream, type StreamEvent } from './event-source';

/** What the leader of a stream tells the other tabs. */
type Word = { kind: 'event'; event: StreamEvent } | { kind: 'open' };

export interface StreamReader {
  event: (event: StreamEvent) => void;
  /** The stream stands again: what was asked for before may be old. */
  open: () => void;
}

const streams = new Map<string, SharedStream>();

/**
 * Reads a stream that all tabs of one browser share: over HTTP/1.1 a browser has six connections to a host, and a
 * stream keeps one. `scope` is who is signed in, so that nobody reads on in another's tab.
 */
export function readStream(
  { scope, url, events }: { scope: string; url: string; events: readonly string[] },
  reader: StreamReader,
): () => void {
  const name = `muster ${scope} ${url}`;
  const stream = streams.get(name) ?? new SharedStream(name, url, events);
  streams.set(name, stream);
  stream.readers.add(reader);
  return () => {
    stream.readers.delete(reader);
    if (stream.readers.size > 0) return;
    streams.delete(name);
    stream.close();
  };
}

/** More than a leader has told in the moment in which another takes over. */
const mostHeard = 2000;

/** One tab has the connection, by a lock that the next one gets when it leaves; the others listen to it. */
class SharedStream {
  readonly readers = new Set<StreamReader>();
  private readonly channel: BroadcastChannel;
  private readonly leaving = new AbortController();
  private source: EventStream | undefined;
  private lastId: string | undefined;
  private readonly heard = new Set<string>();

  constructor(
    name: string,
    private readonly url: string,
    private readonly events: readonly string[],
  ) {
    this.channel = new BroadcastChannel(name);
    this.channel.onmessage = ({ data }: MessageEvent<Word>) => this.hear(data);
    // Locks are there on https and on this machine alone; elsewhere each tab has a stream of its own.
    const locks = (navigator as Partial<Navigator>).locks;
    const { signal } = this.leaving;
    const held = () => {
      this.lead();
      return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    };
    if (locks) locks.request(name, { signal }, held).catch(() => undefined);
    else this.lead();
  }

  close(): void {
    this.leaving.abort();
    this.source?.close();
    this.channel.close();
  }

  private lead(): void {
    if (this.leaving.signal.aborted) return;
    const tell = (word: Word) => {
      this.channel.postMessage(word);
      this.hear(word);
    };
    const listeners = {
      event: (event: StreamEvent) => tell({ kind: 'event', event }),
      open: () => tell({ kind: 'open' }),
      refused: () => undefined,
    };
    this.source = new EventStream(this.url, this.events, listeners, this.lastId);
  }

  private hear(word: Word): void {
    if (word.kind === 'open') return this.readers.forEach((reader) => reader.open());
    const { id } = word.event;
    // A new leader may hear again what the old one told.
    if (this.heard.has(id)) return;
    this.heard.add(id);
    if (this.heard.size > mostHeard) this.heard.delete(this.heard.values().next().value!);
    this.lastId = id;
    this.readers.forEach((reader) => reader.event(word.event));
  }
}
