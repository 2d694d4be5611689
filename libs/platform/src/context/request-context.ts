import { AsyncLocalStorage } from 'node:async_hooks';

/** Whose work this is. Log lines carry it, and outbox rows and queue payloads take it along. */
export interface RequestContext {
  requestId: string;
  traceparent: string;
  /** By which address of ours the caller came, for links in the answer. */
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

/** Adds what became known on the way, such as the organization once the caller is known. */
export function describeContext(known: Partial<RequestContext>): void {
  const context = storage.getStore();
  if (context) Object.assign(context, known);
}
