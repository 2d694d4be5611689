import type { Command } from './command';

/** The headers of the request that caused a command. All requests of the worker about the command carry them. */
export type Origin = Partial<Record<'x-request-id' | 'traceparent', string>>;

export function getOrigin({ env }: Pick<Command, 'env'>): Origin {
  const { MUSTER_REQUEST_ID: requestId, TRACEPARENT: traceparent } = env;
  return {
    ...(requestId && isValidHeaderText(requestId) ? { 'x-request-id': requestId } : {}),
    ...(traceparent && isValidHeaderText(traceparent) ? { traceparent } : {}),
  };
}

/** Whether the text can be a header's value; any other text would make every report fail. */
function isValidHeaderText(text: string): boolean {
  return /^[\x21-\x7e]{1,256}$/.test(text);
}
