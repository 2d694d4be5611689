import { AsyncLocalStorage } from 'node:async_hooks';

/** The request that the current work belongs to. It is part of log lines, outbox rows and queue payloads. */
export interface RequestContext {
  requestId: string;
  traceparent: string;
  /** Address of the service that the caller used, for links in the response. */
  origin?: string;
  organizationId?: string;
  jobId?: string;
  agentId?: string;
  /** The response may be a second old, so its data can be read from a replica of the database. */
  mayLag?: boolean;
}

interface Stored {
  context: RequestContext;
  watchClient?: () => AbortSignal;
}

const storage = new AsyncLocalStorage<Stored>();

/**
 * Runs the work with the context. `watchClient` returns the signal of the request's client; by default that of the
 * current request.
 */
export function runInContext<T>(
  context: RequestContext,
  work: () => T,
  watchClient = storage.getStore()?.watchClient,
): T {
  return storage.run({ context, watchClient }, work);
}

export function getRequestContext(): RequestContext | undefined {
  return storage.getStore()?.context;
}

/** Returns a signal that aborts when the client of the current request goes away. Undefined outside of a request. */
export function getClientSignal(): AbortSignal | undefined {
  return storage.getStore()?.watchClient?.();
}

/** Adds values that become known during a request, such as the organization after authentication. */
export function addToContext(values: Partial<RequestContext>): void {
  const context = getRequestContext();
  if (context) Object.assign(context, values);
}
