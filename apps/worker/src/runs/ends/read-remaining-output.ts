import { setTimeout as sleep } from 'node:timers/promises';
import { getErrorMessage } from '../../protocol/service';
import type { Spool } from '../../spool/spool';
import type { RunOutput } from '../run-output';
import { type Ending, buildFailedEnding } from './ending';

const fullSpoolMs = 100;

/**
 * Reads the remaining output of a run whose processes have ended. Waits while the spool is full. Returns how the run
 * ends if its output cannot be read, for example because the script replaced an output file with a folder; otherwise
 * undefined.
 */
export async function readRemainingOutput(
  output: RunOutput,
  spool: Spool,
  limitBytes: number,
): Promise<Ending | undefined> {
  try {
    for (;;) {
      if (spool.bytes > limitBytes) await sleep(fullSpoolMs);
      else if (!output.readNewOutput(true, Date.now())) return undefined;
      else await sleep(0);
    }
  } catch (error) {
    spool.recordMissingItem({ kind: 'report', reason: `the rest of the output: ${getErrorMessage(error)}` });
    return buildFailedEnding(error, 'worker_failed');
  }
}
