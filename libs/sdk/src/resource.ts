import type { Client } from './generated/client';

export interface CallOptions {
  signal?: AbortSignal;
  /** Idempotency key, if another process can repeat the call. By default, each creating call gets a random key. */
  idempotencyKey?: string;
  /** ETag of the resource. If the resource no longer has this ETag, the call fails with `precondition_failed`. */
  ifMatch?: string;
}

/** Base class of all resources: holds the client and converts the options of a call. */
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
