import type { Client } from './generated/client';

export interface CallOptions {
  signal?: AbortSignal;
  /** One's own, for a call that is made again by another process; otherwise each call gets one. */
  idempotencyKey?: string;
  /** Refuses with `precondition_failed` where the resource is another by now. */
  ifMatch?: string;
}

/** What all resources have: the client, and how a call's options reach it. */
export abstract class Resource {
  constructor(protected readonly client: Client) {}

  protected with({ signal, idempotencyKey, ifMatch }: CallOptions = {}) {
    const headers = {
      ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
      ...(ifMatch === undefined ? {} : { 'If-Match': ifMatch }),
    };
    return { client: this.client, signal, headers };
  }
}
