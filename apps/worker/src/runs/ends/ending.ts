import type { RunErrorCode } from '@muster/contracts';
import { getRunErrorCode } from '../../bundles/bundle';
import { getErrorMessage } from '../../protocol/service';

/** Why the worker ends a run. `silent`: the end is not reported, because the service has abandoned the job. */
export type Ending = { error: string; graceMs: number } & (
  { status: 'failed'; errorCode: RunErrorCode } | { status: 'cancelled' } | { status: 'silent' }
);

export const restarted = 'the worker was restarted while the command ran';

/**
 * Returns the ending of a run that cannot start or cannot be watched. The error code of the ending is the code of the
 * error, or else `otherwise`.
 */
export function buildFailedEnding(error: unknown, otherwise: RunErrorCode): Ending {
  return {
    status: 'failed',
    error: getErrorMessage(error),
    errorCode: getRunErrorCode(error) ?? otherwise,
    graceMs: 0,
  };
}

const byKill = 128 + 9;

/** Returns the reason and the error code for an exit code, which is null if the process left none. */
export function describeExit(
  exitCode: number | null,
  hadProcess: boolean,
): { reason: string; errorCode: RunErrorCode } {
  if (exitCode !== null) {
    return { reason: `exit code ${exitCode}`, errorCode: exitCode === byKill ? 'process_killed' : 'script_failed' };
  }
  if (hadProcess) return { reason: 'the process was killed', errorCode: 'process_killed' };
  return { reason: restarted, errorCode: 'worker_restarted' };
}
