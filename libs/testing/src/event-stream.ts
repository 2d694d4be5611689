import { get, type IncomingMessage } from 'node:http';
import { waitFor } from './wait-for';

export interface ReceivedEvent {
  id: string;
  event: string;
  data: any;
}

/** A reader of server-sent events that records all of them. */
export class EventStream {
  readonly events: ReceivedEvent[] = [];
  readonly comments: string[] = [];
  retry?: number;
  /** The Last-Event-ID that the reader would send if it reconnected. */
  lastEventId?: string;
  ended = false;
  private rest = '';

  private constructor(readonly response: IncomingMessage) {
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.parseReceivedText(text));
    response.on('close', () => (this.ended = true));
    response.on('error', () => undefined);
  }

  /** Resolves when the response has started, whatever its status is. */
  static open(url: string, headers: Record<string, string> = {}): Promise<EventStream> {
    return new Promise((resolve, reject) => {
      // The reader gets a separate connection, as real readers have.
      get(url, { headers, agent: false }, (response) => resolve(new EventStream(response))).on('error', reject);
    });
  }

  get eventIds(): number[] {
    return this.events.map(({ id }) => Number(id));
  }

  /** Waits until this number of events has arrived in total. */
  async waitForEvents(count: number): Promise<ReceivedEvent[]> {
    return waitFor(`${count} events`, () => this.events.length >= count && this.events);
  }

  close(): void {
    this.response.destroy();
  }

  private parseReceivedText(text: string): void {
    const blocks = (this.rest + text).split('\n\n');
    this.rest = blocks.pop()!;
    for (const block of blocks) this.parseEventBlock(block);
  }

  private parseEventBlock(block: string): void {
    const fields = new Map<string, string>();
    for (const line of block.split('\n')) {
      const at = line.indexOf(':');
      const [name, value] = [line.slice(0, at), line.slice(at + 1).trimStart()];
      if (name === '') this.comments.push(value);
      else fields.set(name, value);
    }
    if (fields.has('retry')) this.retry = Number(fields.get('retry'));
    if (fields.has('id')) this.lastEventId = fields.get('id')!;
    if (!fields.has('data')) return;
    this.events.push({
      id: this.lastEventId ?? '',
      event: fields.get('event') ?? 'message',
      data: JSON.parse(fields.get('data')!),
    });
  }
}
