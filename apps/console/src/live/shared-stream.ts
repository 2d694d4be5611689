import { EventStream, type StreamEvent } from './event-source';

/** Message to the other tabs from the leader, the tab that has the connection. */
type LeaderMessage = { kind: 'event'; event: StreamEvent } | { kind: 'open' };

export interface StreamReader {
  event: (event: StreamEvent) => void;
  /** Called when the stream is connected again. Data that was read before the interruption can be out of date. */
  open: () => void;
}

const streams = new Map<string, SharedStream>();

/**
 * Reads a stream that all tabs of one browser share: over HTTP/1.1 a browser has six connections to a host, and each
 * stream occupies one. `scope` is the signed-in user, so that tabs of different users do not share a stream.
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

/** Maximum number of event ids to remember; more than a leader can send while another tab takes over. */
const maxRememberedIds = 2000;

/** The tab that holds a Web Lock, the leader, has the connection. Others get its messages and queue for the lock. */
class SharedStream {
  readonly readers = new Set<StreamReader>();
  private readonly channel: BroadcastChannel;
  private readonly leaving = new AbortController();
  private source: EventStream | undefined;
  private lastId: string | undefined;
  private readonly seenIds = new Set<string>();

  constructor(
    name: string,
    private readonly url: string,
    private readonly events: readonly string[],
  ) {
    this.channel = new BroadcastChannel(name);
    this.channel.onmessage = ({ data }: MessageEvent<LeaderMessage>) => this.receiveMessage(data);
    // Browsers offer Web Locks only over https and on localhost. Elsewhere each tab opens its own stream.
    const locks = (navigator as Partial<Navigator>).locks;
    const { signal } = this.leaving;
    const leadUntilAborted = () => {
      this.becomeLeader();
      return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    };
    if (locks) locks.request(name, { signal }, leadUntilAborted).catch(() => undefined);
    else this.becomeLeader();
  }

  close(): void {
    this.leaving.abort();
    this.source?.close();
    this.channel.close();
  }

  private becomeLeader(): void {
    if (this.leaving.signal.aborted) return;
    const broadcastMessage = (word: LeaderMessage) => {
      this.channel.postMessage(word);
      this.receiveMessage(word);
    };
    const listeners = {
      event: (event: StreamEvent) => broadcastMessage({ kind: 'event', event }),
      open: () => broadcastMessage({ kind: 'open' }),
      refused: () => undefined,
    };
    this.source = new EventStream(this.url, this.events, listeners, this.lastId);
  }

  private receiveMessage(word: LeaderMessage): void {
    if (word.kind === 'open') return this.readers.forEach((reader) => reader.open());
    const { id } = word.event;
    // A new leader can receive events that the previous leader has already sent to the tabs. These are dropped.
    if (this.seenIds.has(id)) return;
    this.seenIds.add(id);
    if (this.seenIds.size > maxRememberedIds) this.seenIds.delete(this.seenIds.values().next().value!);
    this.lastId = id;
    this.readers.forEach((reader) => reader.event(word.event));
  }
}
