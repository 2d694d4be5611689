import type { Socket } from 'node:net';
import { Injectable, Optional } from '@nestjs/common';
import type { Gauge } from 'prom-client';

/** What waits: a reader of events, a machine for its commands, a run for an answer, a caller for a wake, a reader of a long table, a talk with a model, a tool of its. */
export type StreamKind = 'events' | 'commands' | 'wake' | 'export' | 'chat' | 'tool' | 'answer';

/** Open responses that never end by themselves. They are ended first at shutdown; closing waits for them else. */
@Injectable()
export class OpenStreams {
  constructor(@Optional() private readonly gauge?: Gauge<'kind'>) {}

  private readonly ends = new Set<() => void>();
  private ended = false;

  get count(): number {
    return this.ends.size;
  }

  /** Answers the function that takes the stream off the list. One that comes after the end is ended at once. */
  add(end: () => void, kind: StreamKind = 'events'): () => void {
    let open = true;
    this.ends.add(end);
    this.gauge?.inc({ kind });
    if (this.ended) this.endAll();
    return () => {
      if (open) this.gauge?.dec({ kind });
      open = false;
      this.ends.delete(end);
    };
  }

  /** Waits for something to tell, until the client goes away or the process ends: then the signal says so. */
  async waiting<T>(connection: Socket, kind: StreamKind, work: (ended: AbortSignal) => Promise<T>): Promise<T> {
    const ended = new AbortController();
    const end = () => ended.abort();
    const remove = this.add(end, kind);
    connection.once('close', end);
    try {
      return await work(ended.signal);
    } finally {
      remove();
      connection.off('close', end);
    }
  }

  endAll(): void {
    this.ended = true;
    const ends = [...this.ends];
    this.ends.clear();
    for (const end of ends) end();
  }
}
