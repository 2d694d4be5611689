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
}

const storage = new AsyncLocalStorage<RequestContext>();

export function runInContext<T>(context: RequestContext, work: () => T): T {
  return storage.run(context, work);
}

export function currentContext(): RequestContext | undefined {
  return storage.getStore();
}

/** Adds values that become known during a request, such as the organization after authentication. */
export function describeContext(values: Partial<RequestContext>): void {
  const context = storage.getStore();
  if (context) Object.assign(context, values);
}
