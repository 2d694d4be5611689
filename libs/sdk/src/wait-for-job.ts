import { type Job, jobsRead } from './generated';
import type { Client } from './generated/client';
import { isMusterError, MusterError } from './muster-error';
import { sleep } from './sleep';

export interface WaitOptions {
  /** Gives up then with `wait_timeout`; the run goes on. */
  timeoutMs?: number;
  /** Called with what the run has become, each time that it was looked at. */
  onChange?: (job: Job) => void;
  signal?: AbortSignal;
}

/** Timers hold no more; who waits longer waits for ever. */
const longestTimerMs = 2 ** 31;
const looksMs = { first: 200, longest: 2000 };
/** As long as a service may be away while somebody waits. */
const awayMs = 120_000;

/** Waits for the end of a run, whatever it is. */
export async function waitForJob(client: Client, id: string, options: WaitOptions = {}): Promise<Job> {
  const { timeoutMs = Infinity, onChange, signal } = options;
  const limit = timeoutMs < longestTimerMs ? AbortSignal.timeout(Math.max(0, timeoutMs)) : undefined;
  const both = limit && signal ? AbortSignal.any([limit, signal]) : (limit ?? signal);
  let reachedAt = Date.now();
  try {
    for (let waitMs = looksMs.first; ; waitMs = Math.min(looksMs.longest, waitMs * 1.5)) {
      try {
        const job = await jobsRead({ client, path: { id }, signal: both });
        reachedAt = Date.now();
        onChange?.(job);
        if (isTerminal(job)) return job;
      } catch (error) {
        const away = isMusterError(error) && (error.status === 0 || error.status >= 500);
        if (!away || Date.now() - reachedAt > awayMs) throw error;
      }
      await sleep(waitMs, both);
    }
  } catch (error) {
    if (!limit?.aborted || signal?.aborted) throw error;
    throw new MusterError(0, { code: 'wait_timeout', detail: `The run did not end within ${timeoutMs} ms.` });
  }
}

export function isTerminal({ status }: { status: string }): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}
