import { jobsRead, timelineLogs } from './generated';
import type { Client } from './generated/client';
import { followEvents } from './follow-events';
import { sleep } from './sleep';
import { isTerminal } from './wait-for-job';

export interface LogLine {
  /** Number of the line in the agent's timeline. */
  id: string;
  jobId: string | null;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  /** Time of the line, as ISO 8601. */
  timestamp: string;
}

export interface LogOptions {
  /** Whether to continue with new lines: for a run until it ends, for an agent until the signal aborts. */
  follow?: boolean;
  signal?: AbortSignal;
}

/** Returns the log of a run, oldest line first. */
export async function* readJobLog(
  client: Client,
  jobId: string,
  { follow = false, signal }: LogOptions = {},
): AsyncGenerator<LogLine, void, undefined> {
  const agentId = await findAgentOfJob(client, jobId, { follow, signal });
  // The log is empty if the run has no agent, because only an agent's worker writes log lines.
  if (agentId === null) return;
  const from = await readNewestEntryId(client, agentId, signal);
  // The run's status is read before its lines. If the run has ended by then, no line can be added during the read.
  const over = isTerminal(await jobsRead({ client, path: { id: jobId }, signal }));
  let last = 0n;
  for await (const line of readLogPages(client, { agentId, jobId, order: 'asc', limit: 200, signal })) {
    last = BigInt(line.id);
    yield line;
  }
  if (!follow || over) return;
  for await (const event of followEvents(client, agentId, { lastEventId: from, signal })) {
    if (event.type === 'resync') throw new Error('The agent’s timeline does not reach back to the start of this log.');
    if (event.type === 'log' && event.jobId === jobId && BigInt(event.id) > last) yield toLogLine(event);
    // The event that reports the end of the run is always its last event, so the stream can end here.
    if (event.type === 'job' && event.jobId === jobId && isTerminal(event)) return;
  }
}

/** Returns the agent of a run. With `follow`, waits until the run has one or ends without one. */
async function findAgentOfJob(
  client: Client,
  jobId: string,
  { follow, signal }: Pick<LogOptions, 'follow' | 'signal'>,
): Promise<string | null> {
  for (;;) {
    const job = await jobsRead({ client, path: { id: jobId }, signal });
    if (job.agentId !== null || !follow || isTerminal(job)) return job.agentId;
    await sleep(pollMs, signal);
  }
}

const pollMs = 1000;

/** Returns the last log lines of an agent, of all its runs and commands, then new lines if `follow` is set. */
export async function* readAgentLog(
  client: Client,
  agentId: string,
  { follow = false, signal, lines = 50 }: LogOptions & { lines?: number } = {},
): AsyncGenerator<LogLine, void, undefined> {
  const from = await readNewestEntryId(client, agentId, signal);
  const newest: LogLine[] = [];
  const pageSize = Math.min(200, Math.max(1, lines));
  for await (const line of readLogPages(client, { agentId, order: 'desc', limit: pageSize, signal })) {
    if (newest.length < lines) newest.push(line);
    if (newest.length >= lines) break;
  }
  const past = newest.reverse();
  yield* past;
  if (!follow) return;
  const last = BigInt(past.at(-1)?.id ?? 0);
  for await (const event of followEvents(client, agentId, { lastEventId: from, signal })) {
    if (event.type === 'log' && BigInt(event.id) > last) yield toLogLine(event);
  }
}

interface Written {
  agentId: string;
  jobId?: string;
  order: 'asc' | 'desc';
  limit: number;
  signal?: AbortSignal;
}

/** Reads all pages of log lines. A page can be empty although later pages contain lines. */
async function* readLogPages(client: Client, { agentId, signal, ...range }: Written) {
  let cursor: string | undefined;
  do {
    const page = await timelineLogs({
      client,
      path: { id: agentId },
      query: { ...range, kind: 'execution', ...(cursor ? { cursor } : {}) },
      signal,
    });
    yield* page.entries;
    cursor = page.nextCursor ?? undefined;
  } while (cursor);
}

/**
 * Returns the id of the newest entry in the agent's timeline. A stream of events that starts after this entry misses no
 * later event.
 */
async function readNewestEntryId(client: Client, agentId: string, signal?: AbortSignal): Promise<string | undefined> {
  const { entries } = await timelineLogs({ client, path: { id: agentId }, query: { limit: 1 }, signal });
  return entries[0]?.id;
}

function toLogLine(event: {
  id: string;
  jobId: string | null;
  level: LogLine['level'];
  message: string;
  timestamp: number;
}): LogLine {
  const { id, jobId, level, message, timestamp } = event;
  return { id, jobId, level, message, timestamp: new Date(timestamp * 1000).toISOString() };
}
