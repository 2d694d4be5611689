import { AppError } from '@muster/contracts';
import type { Step } from './check-steps';
import { writePlayFunction } from './recordings/write-script';

export interface Runnable {
  name: string;
  script: string;
  steps: readonly Step[];
}

/**
 * Returns the script that a run executes: the workflow's script, or else one made of its steps. Null if it has neither.
 */
export function buildScriptToRun({ name, script, steps }: Runnable): string | null {
  if (/\S/.test(script)) return script;
  return steps.length ? writePlayFunction({ name, steps }) : null;
}

/** SQL condition on a revision `r`: whether it has anything to run. */
export const runsAnythingSql = `(r.script ~ '\\S' OR jsonb_array_length(r.steps) > 0)`;

export function requireScriptOrSteps(runs: boolean): void {
  if (runs) return;
  throw new AppError('nothing_to_run', {
    detail:
      'The workflow has neither a script nor steps, and the run uses no bundle of a pack. Save a script or steps ' +
      'first.',
  });
}
