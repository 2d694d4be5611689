import { appendTimeline } from '@muster/timeline';
import { type InterruptedAttempt, shortenText, type StepAttempted } from '@muster/contracts';
import type { HeldAttempt } from '@muster/database';
import { cleanNameForSentence } from '@muster/platform';
import { writeStableCode } from '@muster/workflows';
import { personCodeName, usesPersonCode } from '../codes/attempt-codes';
import { writeCodeQuestion } from '../pauses/pause-forms';
import { pauseSession } from '../pauses/pause-session';
import type { StepRow } from '../session/session-row';
import { endAttempt } from './attempts';
import type { EndedCommand } from './ended-command';
import {
  findLesson,
  saveLesson,
  type Lesson,
  rankSelectors,
  rankSelectorsOfActions,
  limitToReliableSelectors,
} from './lessons';
import { issueAttemptCommand, reopenLostBrowser } from './session-commands';
import { recordPageSnapshot } from './record-page-snapshot';
import { markStepSubmitting, startNextStep, appendStepEvent } from './start-next-step';
import { getCurrentStep, requireTaskOfSession, type Work } from './work';

/** Processes the end of an attempt's command: passes the step, continues with a submit, or tries another strategy. */
export async function applyAttemptResult(work: Work, command: EndedCommand): Promise<void> {
  const { session } = work;
  const held = session.held!;
  const { step } = getCurrentStep(work);
  if (command.status === 'failed') return applyUnknownResult(work, command);
  const answer = command.output as unknown as StepAttempted;
  await recordPageSnapshot(work, answer.look);
  recordBlockedAddresses(work, answer.blocked);
  held.done = [...held.done, ...answer.done];
  held.steps = [...held.steps, ...answer.steps];
  step.extracted = { ...step.extracted, ...answer.extracted };
  if (answer.outcome === 'would_submit') return pauseBeforeSubmit(work, held, answer);
  const { screenshotKey } = session.look!;
  // If the worker was allowed to submit and stopped before the submit, it reports `submitted: false`.
  step.submitted = held.sentBefore || answer.submitted;
  const isByHand = step.codeOnce !== null;
  step.codeOnce = null;
  session.held = null;
  if (answer.outcome === 'passed') {
    await endAttempt(work, step, held.attemptId, { outcome: 'passed', screenshotKey, submitted: answer.submitted });
    return markStepPassed(work, step, held);
  }
  await endAttempt(work, step, held.attemptId, {
    outcome: 'failed',
    error: answer.error ?? 'The attempt failed without a reported reason.',
    code: answer.why ? `page_${answer.why}` : null,
    screenshotKey,
    submitted: answer.submitted,
  });
  return isByHand ? pauseForAnotherCode(work, step) : startNextStep(work);
}

/**
 * Asks the person whose code failed what to do next. The model is not called, because the person did not request that
 * and a call costs money.
 */
function pauseForAnotherCode(work: Work, step: StepRow): Promise<void> {
  const { taskStep } = getCurrentStep(work);
  step.status = 'failed';
  appendStepEvent(work, step);
  const code = `The code for “${cleanNameForSentence(taskStep.title)}”`;
  const question = `${code} failed. ${step.lastError ?? ''}\nWhat should the session do?`;
  return pauseSession(work, { reason: 'attempts_exhausted', question });
}

/**
 * Records a submit before it is executed. Asks a person before a repeated submit, or if every submit needs approval.
 */
async function pauseBeforeSubmit(work: Work, held: HeldAttempt, { at }: StepAttempted): Promise<void> {
  const { tx, session } = work;
  const { step, taskStep } = getCurrentStep(work);
  held.from = at;
  if (step.submitted && !step.maySubmit) {
    await endAttempt(work, step, held.attemptId, { outcome: 'stopped', screenshotKey: session.look!.screenshotKey });
    const question = `“${cleanNameForSentence(taskStep.title)}” has already sent something and would send it again. Should it?`;
    return pauseSession(work, { reason: 'outcome_unknown', question });
  }
  if (session.approve === 'before_submit' && !step.maySubmit) {
    await endAttempt(work, step, held.attemptId, { outcome: 'stopped', screenshotKey: session.look!.screenshotKey });
    const question = `“${cleanNameForSentence(taskStep.title)}” is about to send what the page shows. Should it?`;
    return pauseSession(work, { reason: 'before_submit', question });
  }
  markStepSubmitting(step, held);
  tx.deferStatement('UPDATE autopilot_attempt SET submitted = true WHERE id = $1', [held.attemptId], 'attempt_submits');
  await issueAttemptCommand(work, held, taskStep.expect);
}

/** Marks a step as passed and stores how it was done, for later sessions. A person's code is not stored. */
export async function markStepPassed(work: Work, step: StepRow, held: HeldAttempt | null): Promise<void> {
  const { session } = work;
  if (step.status !== 'passed') step.status = 'passed';
  step.unsure = 0;
  step.lastError = null;
  step.maySubmit = false;
  if (held) await saveLessonOfAttempt(work, step, held);
  appendStepEvent(work, step);
  session.passed = work.steps.filter(({ status }) => status === 'passed').length;
  return startNextStep(work);
}

async function saveLessonOfAttempt({ tx, session }: Work, step: StepRow, held: HeldAttempt): Promise<void> {
  const lessonRef = { organizationId: session.organizationId, taskKey: session.taskKey! };
  const previous = await findLesson(tx, lessonRef, step.stepId);
  if (held.code !== undefined) {
    const isLesson = held.code === previous?.code;
    step.byHand = !isLesson;
    if (isLesson) Object.assign(step, { stableCode: previous.code, selectors: previous.selectors });
    else step.stableCode = null;
    return;
  }
  step.byHand = usesPersonCode(JSON.stringify(held.actions ?? []));
  if (step.byHand) {
    // A later session cannot use the one-time code, and asks a person again. So does the workflow of this session.
    const question = writeCodeQuestion(requireTaskOfSession(session).steps[step.position]!.title);
    step.stableCode = writeStableCode(limitToReliableSelectors(held.steps, held.done), {
      name: personCodeName,
      question,
    });
    return;
  }
  const actions = rankSelectorsOfActions(held.actions ?? [], held.done, previous);
  const selectors = held.done
    .filter(({ candidates }) => candidates.length > 0)
    .map(({ name, candidates }) => ({ name, candidates: rankSelectors(candidates) }));
  const lesson: Lesson = {
    stepId: step.stepId,
    code: writeStableCode(limitToReliableSelectors(held.steps, held.done)),
    actions,
    selectors,
    extracts: (held.actions ?? []).filter(({ action }) => action === 'extract').map(({ name }) => name),
  };
  // The step counts as healed if its stable code failed in this session and is replaced now.
  const healed = step.tried.includes('stable_code') && previous !== null && previous.code !== lesson.code;
  if (healed) session.healed += 1;
  step.stableCode = lesson.code;
  step.selectors = selectors;
  saveLesson(tx, { ...lessonRef, sessionId: session.id, healed }, lesson);
}

/** Handles an attempt without a result. An attempt that was not allowed to submit has submitted nothing. */
async function applyUnknownResult(work: Work, { code, error, output }: EndedCommand): Promise<void> {
  const { session } = work;
  const { step } = getCurrentStep(work);
  const held = session.held!;
  const { submit } = (output ?? {}) as Partial<InterruptedAttempt>;
  const sent = held.submitting ? (submit ?? (code === 'browser_lost' ? 'none' : 'unknown')) : 'none';
  const end = { error: error ?? 'The result of the attempt is unknown.', code };
  const isByHand = step.codeOnce !== null;
  session.held = null;
  step.codeOnce = null;
  if (sent === 'none') {
    await endAttempt(work, step, held.attemptId, { outcome: 'failed', ...end });
    return isByHand ? pauseForAnotherCode(work, step) : reopenLostBrowser(work);
  }
  await endAttempt(work, step, held.attemptId, { outcome: 'unknown', submitted: true, ...end });
  return reopenLostBrowser(work);
}

function recordBlockedAddresses({ tx, session }: Work, blocked: string[]): void {
  if (blocked.length === 0) return;
  const { organizationId, agentId, id: sessionId } = session;
  const addresses = blocked.slice(0, 20).map((address) => shortenText(address, 200));
  appendTimeline(tx, { organizationId, agentId }, [
    {
      kind: 'execution',
      level: 'warn',
      source: 'dispatcher',
      message: `autopilot session blocked the page from opening ${addresses.join(', ')}`,
      data: { sessionId, type: 'blocked', addresses },
    },
  ]);
}
