import { AppError } from '@muster/contracts';
import type { Step } from './check-steps';
import { playSteps } from './recordings/write-script';

export interface Runnable {
  name: string;
  script: string;
  steps: readonly Step[];
}

/** What a run of it is: its script, or else its steps as one. Null where there is nothing at all. */
export function scriptOf({ name, script, steps }: Runnable): string | null {
  if (/\S/.test(script)) return script;
  return steps.length ? playSteps({ name, steps }) : null;
}

/** For statements that read a revision as `r`: whether there is anything to run. */
export const runsAnything = `(r.script ~ '\\S' OR jsonb_array_length(r.steps) > 0)`;

export function requireSomethingToRun(runs: boolean): void {
  if (runs) return;
  throw new AppError('nothing_to_run', {
    detail: 'The workflow has neither a script nor steps nor a bundle; save some first.',
  });
}
