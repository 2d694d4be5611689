import { appendTimeline } from '@muster/timeline';
import { type PageLooked, type SessionOpened, shortenText } from '@muster/contracts';
import { cleanNameForSentence } from '@muster/platform';
import { startEndingSession } from '../session/end-session';
import { changeSessionStatus } from '../session/change-session-status';
import { pauseSession } from '../pauses/pause-session';
import type { EndedCommand } from './ended-command';
import { issueSnapshotCommand } from './session-commands';
import { markStepPassed } from './apply-attempt-result';
import { recordPageSnapshot } from './record-page-snapshot';
import { parseOriginOrNull } from '../task/task-key';
import { startNextStep } from './start-next-step';
import { getCurrentStep, requireTaskOfSession, type Work } from './work';

/** Processes the end of the open command: the browser is reused, new, or could not be opened. */
export async function applyOpenResult(work: Work, { status, output, error, code }: EndedCommand): Promise<void> {
  const { tx, session } = work;
  if (status === 'failed') {
    const reason = error ?? 'the agent did not open a browser';
    return startEndingSession(work, {
      to: 'failed',
      error: `The session has no browser: ${reason}`,
      code: code ?? 'browser_unavailable',
    });
  }
  const { look, reused, startError } = output as unknown as SessionOpened;
  await recordPageSnapshot(work, look);
  if (startError) recordStartError(work, startError);
  if (session.status === 'queued') {
    const { maxSteps } = session;
    await changeSessionStatus(tx, session, {
      change: 'begin',
      source: 'dispatcher',
      reason: `its browser is open (${maxSteps} steps at most)`,
    });
    const isElsewhere = parseOriginOrNull(requireTaskOfSession(session).startUrl) !== parseOrigin(session.look!.url);
    if (startError && isElsewhere) return failSessionStart(work, startError);
    return startNextStep(work);
  }
  const { step, taskStep } = getCurrentStep(work);
  const looksFirst = step.submitted && step.status === 'running';
  if (!reused) resetPassedSteps(work);
  if (!looksFirst) return startNextStep(work);
  if (reused && taskStep.expect)
    return issueSnapshotCommand(tx, session, { phase: 'recheck', expect: taskStep.expect });
  return pauseForUnknownOutcome(work);
}

/**
 * Records the error on the timeline and on the next step, so that the strategy for that step takes the error into
 * account.
 */
function recordStartError({ tx, session, steps }: Work, startError: string): void {
  const { organizationId, agentId, id: sessionId } = session;
  const step = steps.find(({ status }) => status !== 'passed' && status !== 'skipped');
  if (step) step.lastError = `The start page did not open correctly: ${startError}`;
  appendTimeline(tx, { organizationId, agentId }, [
    {
      kind: 'execution',
      level: 'warn',
      source: 'dispatcher',
      message: `autopilot session could not open its start page: ${shortenText(startError, 500)}`,
      data: { sessionId, type: 'start_page' },
    },
  ]);
}

/** Fails the session, because its start page did not load and a model cannot work with an error page. */
function failSessionStart(work: Work, startError: string): Promise<void> {
  return startEndingSession(work, {
    to: 'failed',
    error: `The start page ${requireTaskOfSession(work.session).startUrl} cannot be opened from the agent: ${startError}`,
    code: 'start_page_failed',
  });
}

function parseOrigin(url: string): string | null {
  return URL.canParse(url) ? new URL(url).origin : null;
}

/**
 * Resets the passed steps, which a new browser must repeat with what was learned. Steps that submitted something and
 * steps that a person did are not repeated.
 */
function resetPassedSteps({ session, steps }: Work): void {
  for (const step of steps) {
    if (step.status !== 'passed' || step.submitted || step.byHand) continue;
    Object.assign(step, { status: 'pending', tried: [] });
  }
  session.passed = steps.filter(({ status }) => status === 'passed').length;
}

/** Processes the check of a step whose attempt has an unknown result: the step passes if its expectation holds. */
export async function applyRecheckResult(work: Work, { status, output }: EndedCommand): Promise<void> {
  const { step } = getCurrentStep(work);
  if (status === 'failed') return pauseForUnknownOutcome(work);
  const { look, holds } = output as unknown as PageLooked;
  await recordPageSnapshot(work, look);
  return holds ? markStepPassed(work, step, null) : pauseForUnknownOutcome(work);
}

function pauseForUnknownOutcome(work: Work): Promise<void> {
  const { taskStep } = getCurrentStep(work);
  const question =
    `“${cleanNameForSentence(taskStep.title)}” may have sent something, but its result is unknown. Check whether it arrived: ` +
    'skip the step if it did, or resume to do it again.';
  return pauseSession(work, { reason: 'outcome_unknown', question });
}

/** Processes the final check: completes the session if the task's success condition holds. */
export async function applySuccessResult(work: Work, { status, output, error }: EndedCommand): Promise<void> {
  const { session } = work;
  if (status === 'failed') {
    return startEndingSession(work, {
      to: 'failed',
      error: `The success condition could not be checked: ${error ?? 'no answer'}`,
      code: 'check_failed',
    });
  }
  const { look, holds, unmet } = output as unknown as PageLooked;
  await recordPageSnapshot(work, look);
  if (holds) return startEndingSession(work, { to: 'completed', error: null, code: null });
  const { description } = requireTaskOfSession(session).success;
  const reason = unmet ?? 'the page does not show it';
  return startEndingSession(work, {
    to: 'failed',
    error: `The success condition “${cleanNameForSentence(description)}” is not met: ${reason}`,
    code: 'check_failed',
  });
}
