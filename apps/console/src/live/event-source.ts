import { reportReachable, reportUnreachable } from './connection';

export interface StreamEvent {
  /** Position from which the stream resumes; increasing numbers in agent streams, not in the organization's stream. */
  id: string;
  event: string;
  data: unknown;
}

interface Listeners {
  event: (event: StreamEvent) => void;
  /** Called when the connection is open, for the first time or again. */
  open: () => void;
  /** Called after three failed connections in a row: the stream does not exist, or the user may not read it. */
  refused: () => void;
}

const longestWaitMs = 15_000;

/**
 * Reads one event stream until it is closed. EventSource reconnects automatically after a lost connection. After an
 * error response it stops, and this class opens a new one that resumes after the last event received.
 */
export class EventStream {
  private source: EventSource | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private waitMs = 1000;
  private failures = 0;

  constructor(
    private readonly url: string,
    private readonly events: readonly string[],
    private readonly listeners: Listeners,
    private lastId?: string,
  ) {
    this.connect();
  }

  close(): void {
    clearTimeout(this.timer);
    this.source?.close();
  }

  private connect(): void {
    const first = this.url.includes('?') ? '&' : '?';
    const resume = this.lastId === undefined ? '' : `${first}lastEventId=${encodeURIComponent(this.lastId)}`;
    const source = new EventSource(`${this.url}${resume}`);
    this.source = source;
    source.onopen = () => {
      this.waitMs = 1000;
      this.failures = 0;
      reportReachable();
      this.listeners.open();
    };
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return reportUnreachable();
      source.close();
      this.failures += 1;
      if (this.failures === 3) this.listeners.refused();
      this.timer = setTimeout(() => this.connect(), this.waitMs);
      this.waitMs = Math.min(this.waitMs * 2, longestWaitMs);
    };
    for (const event of this.events) {
      source.addEventListener(event, (message) => {
        const { lastEventId: id, data } = message as MessageEvent<string>;
        this.lastId = id;
        this.listeners.event({ id, event, data: JSON.parse(data) as unknown });
      });
    }
  }
}
