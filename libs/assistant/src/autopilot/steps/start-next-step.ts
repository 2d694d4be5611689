import type { HeldAttempt } from '@muster/database';
import { cleanNameForSentence } from '@muster/platform';
import { startEndingSession } from '../session/end-session';
import { pauseSession } from '../pauses/pause-session';
import { appendSessionEvent } from '../session/session-events';
import type { StepRow } from '../session/session-row';
import { startAttempt } from './attempts';
import { chooseStrategy } from './choose-strategy';
import { findLesson } from './lessons';
import { issueAttemptCommand, issueSnapshotCommand } from './session-commands';
import { requireTaskOfSession, type Work } from './work';

/**
 * Continues with the first step that is not done: tries the cheapest strategy that has not failed for the step, or asks
 * a person.
 */
export async function startNextStep(work: Work): Promise<void> {
  const { tx, session, steps } = work;
  const step = steps.find(({ status }) => status !== 'passed' && status !== 'skipped');
  const task = requireTaskOfSession(session);
  if (!step) {
    if (task.success.check) return issueSnapshotCommand(tx, session, { phase: 'check', expect: task.success.check });
    return startEndingSession(work, { to: 'completed', error: null, code: null });
  }
  const taskStep = task.steps[step.position]!;
  if (step.status !== 'running') {
    session.stepsBegun += 1;
    if (session.stepsBegun > session.maxSteps) {
      return startEndingSession(work, createLimitReachedEnding(`its limit of ${session.maxSteps} steps is used up`));
    }
    step.status = 'running';
    appendStepEvent(work, step);
  }
  if (session.atStep !== step.position) session.held = null;
  session.atStep = step.position;
  if (session.held) return continueHeldAttempt(work, step, session.held);
  if (step.tried.length >= session.maxAttempts) {
    step.status = 'failed';
    appendStepEvent(work, step);
    const lastError = step.lastError ? ` The last error: ${step.lastError}` : '';
    const question =
      `“${cleanNameForSentence(taskStep.title)}” did not succeed in ${step.tried.length} attempts.${lastError}\n` +
      'What should the session do?';
    return pauseSession(work, { reason: 'attempts_exhausted', question });
  }
  const { taskKey, organizationId } = session;
  const lesson = await findLesson(tx, { organizationId, taskKey: taskKey! }, step.stepId);
  const chosen = chooseStrategy({ step, task: taskStep, lesson });
  if (chosen.with === 'look') return issueSnapshotCommand(tx, session, { phase: 'look' });
  const attemptId = await startAttempt(work, step, chosen.strategy);
  const held: HeldAttempt = {
    attemptId,
    strategy: chosen.strategy,
    from: 0,
    submitting: false,
    sentBefore: step.submitted,
    done: [],
    steps: [],
  };
  if (chosen.with === 'hand') held.code = step.codeOnce!;
  else if (chosen.with === 'expectation') held.actions = [];
  else if (chosen.strategy === 'stable_code') held.code = lesson!.code;
  else held.actions = lesson!.actions;
  session.held = held;
  // An attempt without actions only checks the expectation.
  await issueAttemptCommand(work, held, taskStep.expect);
}

/** Continues a held attempt after a person approved its submit. */
async function continueHeldAttempt(work: Work, step: StepRow, held: HeldAttempt): Promise<void> {
  const { tx, session } = work;
  markStepSubmitting(step, held);
  const taskStep = requireTaskOfSession(session).steps[step.position]!;
  tx.deferStatement(
    `UPDATE autopilot_attempt SET submitted = true, outcome = 'running', finished_at = NULL WHERE id = $1`,
    [held.attemptId],
    'continue_autopilot_attempt',
  );
  await issueAttemptCommand(work, held, taskStep.expect);
}

/** Records that the step may have submitted something. Call this before the command that submits is issued. */
export function markStepSubmitting(step: StepRow, held: HeldAttempt): void {
  held.submitting = true;
  step.submitted = true;
  step.maySubmit = false;
}

export function appendStepEvent({ tx, session }: Work, step: StepRow): void {
  appendSessionEvent(tx, session, { type: 'step', data: { stepId: step.stepId, status: step.status } });
}

const advice = 'The code of its completed steps is stored. Start a new session with a higher limit.';

export function createLimitReachedEnding(reason: string) {
  return { to: 'failed', error: `The session was ended: ${reason}. ${advice}`, code: 'limit_reached' } as const;
}
