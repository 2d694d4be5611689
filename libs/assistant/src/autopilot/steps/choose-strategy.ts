import type { StepStrategy, TaskStep } from '@muster/contracts';
import type { Lesson } from './lessons';
import type { StepRow } from '../session/session-row';

export interface StrategyFacts {
  step: Pick<StepRow, 'tried' | 'submitted' | 'instruction' | 'codeOnce'>;
  task: Pick<TaskStep, 'kind' | 'expect'>;
  /** How an earlier session of the same task performed the step (its lesson). */
  lesson: Pick<Lesson, 'actions'> | null;
}

export type Chosen =
  | { strategy: StepStrategy; with: 'lesson' | 'look' }
  /** Runs the code that a person wrote for the step; it is used once. */
  | { strategy: 'stable_code'; with: 'hand' }
  /** Performs no action and only checks the step's expectation. */
  | { strategy: 'stable_code'; with: 'expectation' };

/** Chooses the cheapest strategy for a step that has not failed yet. */
export function chooseStrategy({ step, task, lesson }: StrategyFacts): Chosen {
  if (step.codeOnce !== null) return { strategy: 'stable_code', with: 'hand' };
  // If a person gave an instruction for the step, the model performs the step.
  if (step.instruction !== null) return { strategy: 'model', with: 'look' };
  if (task.kind === 'verify' && task.expect) return { strategy: 'stable_code', with: 'expectation' };
  // A step that may have submitted something is not replayed: the model checks the page first.
  if (lesson && !step.submitted) {
    if (!step.tried.includes('stable_code')) return { strategy: 'stable_code', with: 'lesson' };
    if (lesson.actions.length > 0 && !step.tried.includes('selectors'))
      return { strategy: 'selectors', with: 'lesson' };
  }
  return { strategy: 'model', with: 'look' };
}
