import type { AutopilotTask, TaskStep } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import type { SessionRow, StepRow } from '../session/session-row';

/** One handling of a session: whoever has it holds the session's lock, and writes down at its end what became of it. */
export interface Work {
  tx: Transaction;
  session: SessionRow;
  steps: StepRow[];
}

/** The step that the session is at, as it stands and as the task has it. */
export function stepAt({ session, steps }: Work): { step: StepRow; asked: TaskStep } {
  const step = steps[session.atStep ?? 0]!;
  return { step, asked: taskOf(session).steps[step.position]! };
}

export function taskOf({ task }: SessionRow): AutopilotTask {
  if (!task) throw new Error('the session has no task yet');
  return task;
}

/** What {{NAME}} may be. */
export function namesOf({ inputs, vaultKeys }: SessionRow): string[] {
  return [...Object.keys(inputs), ...vaultKeys];
}

export function titleOf({ session, steps }: Work, position: number): string {
  return session.task?.steps[position]?.title ?? steps[position]?.stepId ?? '';
}
