import type { StepStrategy, TaskStep } from '@muster/contracts';
import type { Lesson } from './lessons';
import type { StepRow } from '../session/session-row';

export interface StrategyFacts {
  step: Pick<StepRow, 'tried' | 'submitted' | 'instruction' | 'codeOnce'>;
  task: Pick<TaskStep, 'kind' | 'expect'>;
  /** What an earlier session of the same task left. */
  lesson: Pick<Lesson, 'actions'> | null;
}

export type Chosen =
  | { strategy: StepStrategy; with: 'lesson' | 'look' }
  /** A person's code, this once. */
  | { strategy: 'stable_code'; with: 'hand' }
  /** Nothing is done; what is expected is looked at. */
  | { strategy: 'stable_code'; with: 'expectation' };

/** How is a step done next? The cheapest way that has not failed. */
export function chooseStrategy({ step, task, lesson }: StrategyFacts): Chosen {
  if (step.codeOnce !== null) return { strategy: 'stable_code', with: 'hand' };
  // Who says what is to be done speaks to the model.
  if (step.instruction !== null) return { strategy: 'model', with: 'look' };
  if (task.kind === 'verify' && task.expect) return { strategy: 'stable_code', with: 'expectation' };
  // What may have been sent is looked at before anything is done again.
  if (lesson && !step.submitted) {
    if (!step.tried.includes('stable_code')) return { strategy: 'stable_code', with: 'lesson' };
    if (lesson.actions.length > 0 && !step.tried.includes('selectors'))
      return { strategy: 'selectors', with: 'lesson' };
  }
  return { strategy: 'model', with: 'look' };
}
