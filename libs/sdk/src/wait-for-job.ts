import { type Job, jobsRead } from './generated';
import type { Client } from './generated/client';
import { isMusterError, MusterError } from './muster-error';
import { sleep } from './sleep';

export interface WaitOptions {
  /** Time after which the wait fails with `wait_timeout`. The run continues. */
  timeoutMs?: number;
  /** Called with the current state of the run after each poll. */
  onChange?: (job: Job) => void;
  signal?: AbortSignal;
}

/** Maximum delay of a timer, in milliseconds. A longer timeout is treated as no timeout. */
const longestTimerMs = 2 ** 31;
const looksMs = { first: 200, longest: 2000 };
/** Time for which the service may be unreachable before the wait fails. */
const awayMs = 120_000;

/** Waits until a run is completed, failed or cancelled, and returns it. */
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
