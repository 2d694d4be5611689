import { jobsRead, timelineLogs } from './generated';
import type { Client } from './generated/client';
import { followEvents } from './follow-events';
import { isTerminal } from './wait-for-job';

export interface LogLine {
  /** Its number in the agent's timeline. */
  id: string;
  jobId: string | null;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  /** ISO 8601. */
  timestamp: string;
}

export interface LogOptions {
  /** Goes on with what comes: of a run until its end, of an agent until the signal. */
  follow?: boolean;
  signal?: AbortSignal;
}

/** What a run has said, oldest first. */
export async function* logOfJob(
  client: Client,
  jobId: string,
  { follow = false, signal }: LogOptions = {},
): AsyncGenerator<LogLine, void, undefined> {
  const { agentId } = await jobsRead({ client, path: { id: jobId }, signal });
  const from = await newestId(client, agentId, signal);
  // Whether it is over is looked at before its lines are read, so that none of them can come in between.
  const over = isTerminal(await jobsRead({ client, path: { id: jobId }, signal }));
  let last = 0n;
  for await (const line of written(client, { agentId, jobId, order: 'asc', limit: 200, signal })) {
    last = BigInt(line.id);
    yield line;
  }
  if (!follow || over) return;
  for await (const event of followEvents(client, agentId, { lastEventId: from, signal })) {
    if (event.type === 'resync') throw new Error('The agent’s timeline is not kept as far back as this log.');
    if (event.type === 'log' && event.jobId === jobId && BigInt(event.id) > last) yield lineOf(event);
    // Its end is reported last.
    if (event.type === 'job' && event.jobId === jobId && isTerminal(event)) return;
  }
}

/** What is said on an agent, by whatever runs there: the last lines, and then what comes. */
export async function* logOfAgent(
  client: Client,
  agentId: string,
  { follow = false, signal, lines = 50 }: LogOptions & { lines?: number } = {},
): AsyncGenerator<LogLine, void, undefined> {
  const from = await newestId(client, agentId, signal);
  const newest: LogLine[] = [];
  const pageSize = Math.min(200, Math.max(1, lines));
  for await (const line of written(client, { agentId, order: 'desc', limit: pageSize, signal })) {
    if (newest.length < lines) newest.push(line);
    if (newest.length >= lines) break;
  }
  const past = newest.reverse();
  yield* past;
  if (!follow) return;
  const last = BigInt(past.at(-1)?.id ?? 0);
  for await (const event of followEvents(client, agentId, { lastEventId: from, signal })) {
    if (event.type === 'log' && BigInt(event.id) > last) yield lineOf(event);
  }
}

interface Written {
  agentId: string;
  jobId?: string;
  order: 'asc' | 'desc';
  limit: number;
  signal?: AbortSignal;
}

/** Page after page: one may be empty though there are lines behind it, among much that is no line. */
async function* written(client: Client, { agentId, signal, ...asked }: Written) {
  let cursor: string | undefined;
  do {
    const page = await timelineLogs({
      client,
      path: { id: agentId },
      query: { ...asked, kind: 'execution', ...(cursor ? { cursor } : {}) },
      signal,
    });
    yield* page.entries;
    cursor = page.nextCursor ?? undefined;
  } while (cursor);
}

/** Where a stream begins that shall miss nothing from now on. */
async function newestId(client: Client, agentId: string, signal?: AbortSignal): Promise<string | undefined> {
  const { entries } = await timelineLogs({ client, path: { id: agentId }, query: { limit: 1 }, signal });
  return entries[0]?.id;
}

function lineOf(event: {
  id: string;
  jobId: string | null;
  level: LogLine['level'];
  message: string;
  timestamp: number;
}): LogLine {
  const { id, jobId, level, message, timestamp } = event;
  return { id, jobId, level, message, timestamp: new Date(timestamp * 1000).toISOString() };
}
