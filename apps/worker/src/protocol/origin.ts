import type { Command } from './command';

/** The headers of the request that a command comes from: whatever the worker says of it carries them. */
export type Origin = Partial<Record<'x-request-id' | 'traceparent', string>>;

export function originOf({ env }: Pick<Command, 'env'>): Origin {
  const { MUSTER_REQUEST_ID: requestId, TRACEPARENT: traceparent } = env;
  return {
    ...(requestId && isHeaderText(requestId) ? { 'x-request-id': requestId } : {}),
    ...(traceparent && isHeaderText(traceparent) ? { traceparent } : {}),
  };
}

/** What cannot stand in a header would fail every report. */
function isHeaderText(text: string): boolean {
  return /^[\x21-\x7e]{1,256}$/.test(text);
}
