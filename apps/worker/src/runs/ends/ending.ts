import type { RunErrorCode } from '@muster/contracts';
import { codeOf } from '../../bundles/bundle';
import { messageOf } from '../../protocol/service';

/** Why a run ends other than by itself. `silent`: nobody wants to hear of it. */
export type Ending = { error: string; graceMs: number } & (
  { status: 'failed'; errorCode: RunErrorCode } | { status: 'cancelled' } | { status: 'silent' }
);

export const restarted = 'the worker was restarted while this ran';

/** Nothing began, or nobody can follow it: as far as its error says why, that is the code. */
export function brokenBy(error: unknown, otherwise: RunErrorCode): Ending {
  return { status: 'failed', error: messageOf(error), errorCode: codeOf(error) ?? otherwise, graceMs: 0 };
}

const byKill = 128 + 9;

/** What the exit code says, or that there is none. */
export function endOf(exitCode: number | null, hadProcess: boolean): { why: string; errorCode: RunErrorCode } {
  if (exitCode !== null) {
    return { why: `exit code ${exitCode}`, errorCode: exitCode === byKill ? 'process_killed' : 'script_failed' };
  }
  if (hadProcess) return { why: 'the process was killed', errorCode: 'process_killed' };
  return { why: restarted, errorCode: 'worker_restarted' };
}
