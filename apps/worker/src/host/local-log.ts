import { AsyncLocalStorage } from 'node:async_hooks';
import type { Origin } from '../protocol/origin';

export type LocalLog = (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void;

const origins = new AsyncLocalStorage<Origin>();

/** The work of a command: each line that is logged in it has the ids of the request and the trace that it came from. */
export function inOrigin<T>(origin: Origin, work: () => T): T {
  return origins.run(origin, work);
}

/** JSON lines on stderr. The values of `secrets` never show, whoever put them into a message. */
export function localLog(write: (line: string) => void, secrets: () => string[]): LocalLog {
  return (level, message, fields = {}) => {
    let line = JSON.stringify({
      time: new Date().toISOString(),
      level,
      message,
      ...idsOf(origins.getStore()),
      ...fields,
    });
    for (const secret of secrets()) if (secret) line = line.replaceAll(secret, '[redacted]');
    write(`${line}\n`);
  };
}

/** By the names that the service's own lines have. */
function idsOf({ traceparent, 'x-request-id': requestId }: Origin = {}): { requestId?: string; traceId?: string } {
  return { requestId, traceId: /^00-([0-9a-f]{32})-/.exec(traceparent ?? '')?.[1] };
}
