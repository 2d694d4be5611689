import type { AutopilotTask, TaskStep } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import type { KeyRing } from '@muster/vault';
import type { SessionRow, StepRow } from '../session/session-row';

/** A session that is being advanced. Its creator holds the session's lock and saves the session at the end. */
export interface Work {
  tx: Transaction;
  keyRing: KeyRing;
  session: SessionRow;
  steps: StepRow[];
}

/** Returns the row of the session's current step and its definition in the task. */
export function getCurrentStep({ session, steps }: Work): { step: StepRow; taskStep: TaskStep } {
  const step = steps[session.atStep ?? 0]!;
  return { step, taskStep: requireTaskOfSession(session).steps[step.position]! };
}

export function requireTaskOfSession({ task }: SessionRow): AutopilotTask {
  if (!task) throw new Error('the session has no task yet');
  return task;
}

/** Returns the names that {{NAME}} can refer to. */
export function listPlaceholderNames({ inputs, vaultKeys }: SessionRow): string[] {
  return [...Object.keys(inputs), ...vaultKeys];
}

export function getStepTitle({ session, steps }: Work, position: number): string {
  return session.task?.steps[position]?.title ?? steps[position]?.stepId ?? '';
}
