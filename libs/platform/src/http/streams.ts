import type { Socket } from 'node:net';
import { Injectable, Optional } from '@nestjs/common';
import type { Gauge } from 'prom-client';

/**
 * Kind of an open response: a reader of events, a worker that waits for commands, a caller that waits for a wake, an
 * export of a long table, a chat with a model, a tool of a chat, a run that waits for an answer, or the screen of a run's
 * browser.
 */
export type StreamKind = 'events' | 'commands' | 'wake' | 'export' | 'chat' | 'tool' | 'answer' | 'screen';

/** Returns the text of a server-sent event. */
export function formatEventFrame({ id, event, data }: { id?: number | string; event: string; data: object }): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/**
 * Open responses that do not end on their own. At shutdown they are ended first, because closing the app waits for
 * them.
 */
@Injectable()
export class OpenStreams {
  constructor(@Optional() private readonly gauge?: Gauge<'kind'>) {}

  private readonly ends = new Set<() => void>();
  private ended = false;

  get countOpen(): number {
    return this.ends.size;
  }

  /**
   * Adds a stream and returns the function that removes it. A stream that is added after `endAllStreams` is ended at
   * once.
   */
  addStream(end: () => void, kind: StreamKind = 'events'): () => void {
    let open = true;
    this.ends.add(end);
    this.gauge?.inc({ kind });
    if (this.ended) this.endAllStreams();
    return () => {
      if (open) this.gauge?.dec({ kind });
      open = false;
      this.ends.delete(end);
    };
  }

  /** Runs work that waits for something to send. The signal aborts if the client disconnects or the process ends. */
  async runWaiting<T>(connection: Socket, kind: StreamKind, work: (ended: AbortSignal) => Promise<T>): Promise<T> {
    const ended = new AbortController();
    const abortStream = () => ended.abort();
    const remove = this.addStream(abortStream, kind);
    connection.once('close', abortStream);
    try {
      return await work(ended.signal);
    } finally {
      remove();
      connection.off('close', abortStream);
    }
  }

  endAllStreams(): void {
    this.ended = true;
    const ends = [...this.ends];
    this.ends.clear();
    for (const end of ends) end();
  }
}
