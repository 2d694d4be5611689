import { audit, type Principal, getCallerChannel } from '@muster/access';
import {
  AppError,
  codePattern,
  invalidFieldError,
  type LifecycleSource,
  type PauseReason,
  type SessionStatus,
  type StepOverride,
} from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { answerQuestionByResuming, findCodeInText, type SessionQuestion } from '@muster/jobs';
import type { KeyRing } from '@muster/vault';
import { changeSessionStatus } from '../session/change-session-status';
import { startEndingSession } from '../session/end-session';
import { saveSession, saveStep } from '../session/save-session';
import { readSessionSteps, lockSessionOfAgent, type StepRow } from '../session/session-row';
import { appendStepEvent } from '../steps/start-next-step';
import { getCurrentStep, requireTaskOfSession, type Work } from '../steps/work';
import { addCodeToInstruction, codePlaceholder, toPauseAnswer, toStepOverride } from './pause-forms';

interface Resumption {
  agentId: string;
  sessionId: string;
  stepOverride?: StepOverride;
}

/** Resumes a paused session with a person's decision about a step, which also answers the session's question. */
export async function resumeSession(
  tx: Transaction,
  keyRing: KeyRing,
  caller: Principal,
  { agentId, sessionId, stepOverride = {} }: Resumption,
): Promise<{ sessionId: string; status: SessionStatus }> {
  const { organizationId } = caller;
  const session = await lockSessionOfAgent(tx, { organizationId, agentId, sessionId });
  if (session.status !== 'paused' || session.ending) {
    throw new AppError('conflict', {
      detail: `The session is ${session.ending ? 'ending' : session.status}; only a paused session can be resumed. Wait until it pauses, or start a new session.`,
      extra: { sessionStatus: session.status },
    });
  }
  const work: Work = { tx, keyRing, session, steps: await readSessionSteps(tx, sessionId) };
  const { reason, questionId } = session.pausedFor ?? {};
  const step = requireStepToOverride(work, stepOverride);
  const { override, code } = separateCodeFromInstruction(reason, stepOverride);
  if (questionId && reason) {
    await answerQuestionByResuming(tx, keyRing, caller, {
      id: questionId,
      value: toPauseAnswer(reason, override),
      code,
    });
  }
  await continuePausedSession(work, { override, hasCode: code !== null, source: getCallerChannel(caller) });
  for (const each of work.steps) saveStep(tx, each);
  saveSession(tx, session);
  await tx.enqueue({ queue: 'autopilot', name: 'advance-session', payload: { sessionId } });
  const fields = listOverriddenFields(stepOverride);
  audit(tx, caller, {
    action: 'autopilot.resume',
    target: { type: 'autopilot_session', id: sessionId },
    changes: {
      pausedFor: reason ?? null,
      ...(fields.length || stepOverride.stepId ? { stepId: step.stepId, override: fields } : {}),
    },
  });
  return { sessionId, status: session.status };
}

/**
 * Applies the answer to a paused session's question. A session whose question was declined, has expired, or was answered
 * with no, ends.
 */
export async function applyPauseAnswer(work: Work, { status, reason, kind, answer }: SessionQuestion): Promise<void> {
  if (status === 'expired') return startEndingSession(work, expiredEnding);
  if (status === 'cancelled') {
    const error = `The question of the paused session was declined: ${reason ?? 'no reason was given'}`;
    return startEndingSession(work, { to: 'failed', error, code: null });
  }
  const override = toStepOverride({ kind, answer });
  if (!override) {
    const error = 'A person answered the question of the paused session with no.';
    return startEndingSession(work, { to: 'cancelled', error, code: null });
  }
  await continuePausedSession(work, { override, hasCode: kind === 'code', source: 'dispatcher' });
}

export const expiredEnding = {
  to: 'failed',
  error: 'The question of the paused session was not answered in time.',
  code: 'execution_timeout',
} as const;

interface Continuation {
  override: StepOverride;
  /** Whether the person provided a one-time code, which the next attempt of the step gets. */
  hasCode?: boolean;
  source: LifecycleSource;
}

/** Lets a paused session continue with a person's decision about a step. */
async function continuePausedSession(work: Work, { override, hasCode, source }: Continuation): Promise<void> {
  const { tx, session, steps } = work;
  const reason = session.pausedFor?.reason;
  const { step: current } = getCurrentStep(work);
  const step = requireStepToOverride(work, override);
  resetStepAttempts(current);
  // If the person changes nothing, resuming approves the submit for which the session has paused.
  const isUnchanged = step === current && listOverriddenFields(override).length === 0 && !hasCode;
  if (isUnchanged && (reason === 'before_submit' || reason === 'outcome_unknown')) current.maySubmit = true;
  else session.held = null;
  applyStepOverride(work, step, override);
  if (hasCode) {
    const { instruction } = requireTaskOfSession(session).steps[step.position]!;
    step.instruction = addCodeToInstruction(step.instruction ?? instruction);
  }
  session.passed = steps.filter(({ status }) => status === 'passed').length;
  await changeSessionStatus(tx, session, {
    change: 'resume',
    source,
    reason: hasCode ? 'a person provided the one-time code' : describeResumeReason(override, step),
  });
  session.phase = 'begin';
  session.dueAt = session.now;
}

/**
 * Takes a one-time code out of an instruction, so that the model receives a placeholder instead of the code, and the
 * code is stored only encrypted.
 */
function separateCodeFromInstruction(
  reason: PauseReason | undefined,
  override: StepOverride,
): { override: StepOverride; code: string | null } {
  const { instruction, ...rest } = override;
  const text = instruction?.trim() ?? '';
  if (reason !== 'one_time_code' || text === '') return { override, code: null };
  if (codePattern.test(text) && /[0-9]/.test(text)) return { override: rest, code: text };
  const code = findCodeInText(text, null);
  if (code === null) return { override, code: null };
  return { override: { ...rest, instruction: text.replaceAll(code, codePlaceholder) }, code };
}

/** Allows all strategies for the step again, and lets a failed step continue. */
function resetStepAttempts(step: StepRow): void {
  step.tried = [];
  step.unsure = 0;
  if (step.status === 'failed') step.status = 'running';
}

function requireStepToOverride(work: Work, { stepId, instruction, code, skip }: StepOverride): StepRow {
  if (skip === false) throw invalidFieldError('stepOverride.skip', 'skip must be true or absent');
  if (skip && (instruction !== undefined || code !== undefined)) {
    throw invalidFieldError('stepOverride.skip', 'a step that is skipped takes neither instruction nor code');
  }
  if (instruction !== undefined && code !== undefined) {
    throw invalidFieldError('stepOverride.code', 'give either instruction or code');
  }
  if (stepId === undefined) return getCurrentStep(work).step;
  const step = work.steps.find((each) => each.stepId === stepId);
  if (!step) throw invalidFieldError('stepOverride.stepId', `the session has no step ${stepId}`);
  return step;
}

function applyStepOverride(work: Work, step: StepRow, { instruction, code, skip }: StepOverride): void {
  if (skip) step.status = 'skipped';
  else if (step.status === 'passed' || step.status === 'skipped') step.status = 'pending';
  if (instruction !== undefined) step.instruction = instruction;
  if (code !== undefined) step.codeOnce = code;
  // A person who provides code or an instruction also approves that the step submits something.
  if (code !== undefined || instruction !== undefined) step.maySubmit = true;
  resetStepAttempts(step);
  if (skip) appendStepEvent(work, step);
}

/** Returns the names of the provided fields without their values: a value can contain a one-time code. */
function listOverriddenFields(override: StepOverride): string[] {
  return Object.entries(override).flatMap(([name, value]) => (value === undefined || name === 'stepId' ? [] : [name]));
}

function describeResumeReason(override: StepOverride, step: StepRow): string {
  const fields = listOverriddenFields(override);
  return fields.length ? `a person provided ${fields.join(', ')} for step ${step.stepId}` : 'a person resumed it';
}
