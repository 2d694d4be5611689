import { AppError, type ErrorCode, toWireCode } from '@muster/contracts';
import { cleanNameForSentence } from '@muster/platform';
import { startEndingSession } from '../session/end-session';
import { listSecretNames } from '../codes/attempt-codes';
import { pauseSession } from '../pauses/pause-session';
import { endAttempt } from './attempts';
import type { StepAnswer } from './ask-model-for-step';
import { checkActions } from './check-actions';
import { issueAttemptCommand } from './session-commands';
import { markStepPassed } from './apply-attempt-result';
import { startNextStep } from './start-next-step';
import { getCurrentStep, type Work } from './work';

/** Errors that only a person can fix, by changing a limit or the model's configuration. */
const endingCodes: readonly ErrorCode[] = ['billing_gate_closed', 'model_not_configured'];

/** Applies the model's answer: executes its actions, passes the step, or asks a person. */
export async function applyModelAnswer(work: Work, answer: StepAnswer): Promise<void> {
  const { session } = work;
  const { step, taskStep } = getCurrentStep(work);
  const held = session.held!;
  const screenshotKey = session.look?.screenshotKey ?? null;
  const { status, reason, question } = answer;
  if (status === 'unsure') {
    session.held = null;
    step.unsure += 1;
    await endAttempt(work, step, held.attemptId, { outcome: 'unsure', error: question || null, screenshotKey });
    if (step.unsure < 2) return startNextStep(work);
    const text = question || `The model does not know how to do “${cleanNameForSentence(taskStep.title)}”.`;
    return pauseSession(work, { reason: 'unsure', question: text });
  }
  step.unsure = 0;
  if (status === 'blocked') {
    session.held = null;
    const text = question || `The page does not allow “${cleanNameForSentence(taskStep.title)}”.`;
    await endAttempt(work, step, held.attemptId, { outcome: 'blocked', error: text, screenshotKey });
    if (reason === 'one_time_code' || reason === 'captcha') return pauseSession(work, { reason, question: text });
    return startNextStep(work);
  }
  const actions = status === 'done' ? [] : answer.actions;
  const fault = checkActions(session, actions, await listSecretNames(work, step.instruction));
  if (fault) {
    session.held = null;
    await endAttempt(work, step, held.attemptId, {
      outcome: 'failed',
      error: fault,
      code: 'action_refused',
      screenshotKey,
    });
    return startNextStep(work);
  }
  if (status === 'done' && !taskStep.expect) {
    session.held = null;
    await endAttempt(work, step, held.attemptId, { outcome: 'passed', screenshotKey });
    return markStepPassed(work, step, { ...held, actions: [] });
  }
  session.held = { ...held, actions };
  await issueAttemptCommand(work, session.held, taskStep.expect);
}

/** Applies a failed model call: it counts as a failed attempt of the step, or ends the session. */
export async function applyModelFailure(work: Work, error: AppError): Promise<void> {
  const { session } = work;
  const { step } = getCurrentStep(work);
  const { code, message } = error;
  const { attemptId } = session.held!;
  session.held = null;
  await endAttempt(work, step, attemptId, { outcome: 'failed', error: message, code: toWireCode(code) });
  if (endingCodes.includes(code)) {
    return startEndingSession(work, { to: 'failed', error: message, code: toWireCode(code) });
  }
  return startNextStep(work);
}
