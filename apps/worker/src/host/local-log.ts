import { AsyncLocalStorage } from 'node:async_hooks';
import type { Origin } from '../protocol/origin';

export type LocalLog = (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void;

const origins = new AsyncLocalStorage<Origin>();

/**
 * Runs `work` for a command. All log lines of the work contain the ids of the request and the trace that caused the
 * command.
 */
export function runWithOrigin<T>(origin: Origin, work: () => T): T {
  return origins.run(origin, work);
}

/** Returns a log that writes JSON lines, in which the values of `secrets` are redacted. */
export function createLocalLog(write: (line: string) => void, secrets: () => string[]): LocalLog {
  return (level, message, fields = {}) => {
    let line = JSON.stringify({
      time: new Date().toISOString(),
      level,
      message,
      ...getLogIds(origins.getStore()),
      ...fields,
    });
    for (const secret of secrets()) if (secret) line = line.replaceAll(secret, '[redacted]');
    write(`${line}\n`);
  };
}

/** Returns the request id and the trace id of an origin, named as in the service's own log lines. */
function getLogIds({ traceparent, 'x-request-id': requestId }: Origin = {}): { requestId?: string; traceId?: string } {
  return { requestId, traceId: /^00-([0-9a-f]{32})-/.exec(traceparent ?? '')?.[1] };
}
