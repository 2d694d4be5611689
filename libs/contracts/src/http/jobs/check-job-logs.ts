import { logLevels } from './job-status';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const levels = new Set<unknown>(logLevels);
const maxTimestamp = 253_402_300_799;

/** The quick check of JobLogsBody; its spec holds it to the decorators. */
export function checkJobLogs(body: unknown): object | null {
  const logs = (body as { logs?: unknown } | null)?.logs;
  if (!Array.isArray(logs) || logs.length === 0 || logs.length > 1000) return null;
  const entries = new Array<object>(logs.length);
  // Nothing that came as JSON equals it, absence included.
  let lastId: unknown = entries;
  let id = '';
  for (let at = 0; at < logs.length; at += 1) {
    const entry = logs[at] as Record<string, unknown> | null;
    if (typeof entry !== 'object' || entry === null) return null;
    const { jobId, level, message, timestamp, seq } = entry;
    if (jobId !== lastId) {
      if (typeof jobId !== 'string' || !uuid.test(jobId)) return null;
      id = jobId.toLowerCase();
    }
    if (!levels.has(level) || typeof message !== 'string' || message.length > 65_536) return null;
    if (typeof timestamp !== 'number' || !(timestamp >= 0 && timestamp <= maxTimestamp)) return null;
    if (seq !== undefined && !(Number.isSafeInteger(seq) && (seq as number) >= 0)) return null;
    const kept = { jobId: id, level, message, timestamp };
    entries[at] = seq === undefined ? kept : { ...kept, seq };
    lastId = jobId;
  }
  return { logs: entries };
}
