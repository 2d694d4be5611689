import { appendTimeline } from '@muster/timeline';
import { type PageLooked, type SessionOpened, shortened } from '@muster/contracts';
import { beginEnding } from '../session/end-session';
import { moveSession } from '../session/move-session';
import { pauseSession } from '../session/pause-session';
import type { EndedCommand } from './ended-command';
import { issueLook } from './session-commands';
import { passStep } from './settle-attempt';
import { takeLook } from './take-look';
import { originOf } from '../task/task-key';
import { takeStep } from './take-step';
import { stepAt, taskOf, type Work } from './work';

/** The browser is open, the one that was or a new one; or there is none. */
export async function settleOpen(work: Work, { status, output, error, code }: EndedCommand): Promise<void> {
  const { tx, session } = work;
  if (status === 'failed') {
    const why = error ?? 'the agent did not open a browser';
    return beginEnding(work, {
      to: 'failed',
      error: `The session has no browser: ${why}`,
      code: code ?? 'browser_unavailable',
    });
  }
  const { look, reused, startError } = output as unknown as SessionOpened;
  await takeLook(work, look);
  if (startError) tellStartError(work, startError);
  if (session.status === 'queued') {
    const { maxSteps } = session;
    await moveSession(tx, session, {
      move: 'begin',
      source: 'dispatcher',
      reason: `its browser is open (${maxSteps} steps at most)`,
    });
    const isElsewhere = originOf(taskOf(session).startUrl) !== originAt(session.look!.url);
    if (startError && isElsewhere) return failStart(work, startError);
    return takeStep(work);
  }
  const { step, asked } = stepAt(work);
  const looksFirst = step.submitted && step.status === 'running';
  if (!reused) replay(work);
  if (!looksFirst) return takeStep(work);
  if (reused && asked.expect) return issueLook(tx, session, { phase: 'recheck', expect: asked.expect });
  return askWhatBecame(work);
}

/** Whoever does the next step is to know of it. */
function tellStartError({ tx, session, steps }: Work, startError: string): void {
  const { organizationId, agentId, id: sessionId } = session;
  const step = steps.find(({ status }) => status !== 'passed' && status !== 'skipped');
  if (step) step.lastError = `The start page did not open as it should: ${startError}`;
  appendTimeline(tx, { organizationId, agentId }, [
    {
      kind: 'execution',
      level: 'warn',
      source: 'dispatcher',
      message: `autopilot session could not open its start page: ${shortened(startError, 500)}`,
      data: { sessionId, type: 'start_page' },
    },
  ]);
}

/** There is nothing to begin with; what the browser shows instead is not for a model to puzzle over. */
function failStart(work: Work, startError: string): Promise<void> {
  return beginEnding(work, {
    to: 'failed',
    error: `Its start page ${taskOf(work.session).startUrl} cannot be opened from the agent: ${startError}`,
    code: 'start_page_failed',
  });
}

function originAt(url: string): string | null {
  return URL.canParse(url) ? new URL(url).origin : null;
}

/**
 * A new browser begins at the beginning: what was done in the old one is done again by what was learned of it. Not what
 * was sent for good: that is done.
 */
function replay({ session, steps }: Work): void {
  for (const step of steps) {
    if (step.status !== 'passed' || step.submitted || step.byHand) continue;
    Object.assign(step, { status: 'pending', tried: [] });
  }
  session.passed = steps.filter(({ status }) => status === 'passed').length;
}

/** A look that a step's end hangs on: an attempt may have done it, whose end nobody saw. */
export async function settleRecheck(work: Work, { status, output }: EndedCommand): Promise<void> {
  const { step } = stepAt(work);
  if (status === 'failed') return askWhatBecame(work);
  const { look, holds } = output as unknown as PageLooked;
  await takeLook(work, look);
  return holds ? passStep(work, step, null) : askWhatBecame(work);
}

function askWhatBecame(work: Work): Promise<void> {
  const { asked } = stepAt(work);
  const question =
    `“${asked.title}” may have sent something, and its end was not seen. Look whether it arrived: skip the step if it ` +
    'did, resume to do it again.';
  return pauseSession(work, { reason: 'outcome_unknown', question });
}

/** All steps are done: is what they were for? */
export async function settleSuccess(work: Work, { status, output, error }: EndedCommand): Promise<void> {
  const { session } = work;
  if (status === 'failed') {
    return beginEnding(work, {
      to: 'failed',
      error: `Its success could not be seen: ${error ?? 'no answer'}`,
      code: 'check_failed',
    });
  }
  const { look, holds, unmet } = output as unknown as PageLooked;
  await takeLook(work, look);
  if (holds) return beginEnding(work, { to: 'completed', error: null, code: null });
  const { description } = taskOf(session).success;
  const why = unmet ?? 'what was to be seen is not there';
  return beginEnding(work, {
    to: 'failed',
    error: `It was not reached that ${description}: ${why}`,
    code: 'check_failed',
  });
}
