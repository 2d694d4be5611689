import { audit, type Principal, callerChannel } from '@muster/access';
import { AppError, invalidFieldError, type SessionStatus, type StepOverride } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { appendStepEvent } from '../steps/start-next-step';
import type { Work } from '../steps/work';
import { saveSession, saveStep } from './save-session';
import { changeSessionStatus } from './change-session-status';
import { readSteps, requireSession, type StepRow } from './session-row';

interface Resumption {
  agentId: string;
  sessionId: string;
  stepOverride?: StepOverride;
}

/** Resumes a paused session with a person's answer. */
export async function resumeSession(
  tx: Transaction,
  caller: Principal,
  { agentId, sessionId, stepOverride }: Resumption,
): Promise<{ sessionId: string; status: SessionStatus }> {
  const { organizationId } = caller;
  const session = await requireSession(tx, { organizationId, agentId, sessionId });
  if (session.status !== 'paused' || session.ending) {
    throw new AppError('conflict', {
      detail: `The session is ${session.ending ? 'ending' : session.status}; only a paused session can be resumed. Wait until it pauses, or start a new session.`,
      extra: { sessionStatus: session.status },
    });
  }
  const steps = await readSteps(tx, sessionId);
  const work: Work = { tx, session, steps };
  const reason = session.pausedFor?.reason;
  const current = steps[session.atStep ?? 0]!;
  const step = stepOverride ? findStepToOverride(steps, current, stepOverride) : null;
  resetAttempts(current);
  // If the person changes nothing, resuming approves the submit for which the session has paused.
  const isUnchanged = step === null || (step === current && isEmptyOverride(stepOverride!));
  if (isUnchanged && (reason === 'before_submit' || reason === 'outcome_unknown')) current.maySubmit = true;
  else session.held = null;
  if (step) applyOverride(work, step, stepOverride!);
  for (const each of new Set([current, ...(step ? [step] : [])])) saveStep(tx, each);
  session.passed = steps.filter(({ status }) => status === 'passed').length;
  const by = callerChannel(caller);
  await changeSessionStatus(tx, session, {
    change: 'resume',
    source: by,
    reason: describeResumeReason(stepOverride, step),
  });
  session.phase = 'begin';
  session.dueAt = session.now;
  saveSession(tx, session);
  await tx.enqueue({ queue: 'autopilot', name: 'advance-session', payload: { sessionId } });
  audit(tx, caller, {
    action: 'autopilot.resume',
    target: { type: 'autopilot_session', id: sessionId },
    changes: {
      pausedFor: reason ?? null,
      ...(step ? { stepId: step.stepId, override: listOverriddenFields(stepOverride!) } : {}),
    },
  });
  return { sessionId, status: session.status };
}

/** Allows all strategies for the step again, and lets a failed step continue. */
function resetAttempts(step: StepRow): void {
  step.tried = [];
  step.unsure = 0;
  if (step.status === 'failed') step.status = 'running';
}

function findStepToOverride(
  steps: StepRow[],
  current: StepRow,
  { stepId, instruction, code, skip }: StepOverride,
): StepRow {
  if (skip === false) throw invalidFieldError('stepOverride.skip', 'skip must be true or absent');
  if (skip && (instruction !== undefined || code !== undefined)) {
    throw invalidFieldError('stepOverride.skip', 'a step that is skipped takes neither instruction nor code');
  }
  if (instruction !== undefined && code !== undefined) {
    throw invalidFieldError('stepOverride.code', 'give either instruction or code');
  }
  if (stepId === undefined) return current;
  const step = steps.find((each) => each.stepId === stepId);
  if (!step) throw invalidFieldError('stepOverride.stepId', `the session has no step ${stepId}`);
  return step;
}

function applyOverride(work: Work, step: StepRow, { instruction, code, skip }: StepOverride): void {
  if (skip) step.status = 'skipped';
  else if (step.status === 'passed' || step.status === 'skipped') step.status = 'pending';
  if (instruction !== undefined) step.instruction = instruction;
  if (code !== undefined) step.codeOnce = code;
  // A person who provides code or an instruction also approves that the step submits something.
  if (code !== undefined || instruction !== undefined) step.maySubmit = true;
  resetAttempts(step);
  if (skip) appendStepEvent(work, step);
}

function isEmptyOverride({ instruction, code, skip }: StepOverride): boolean {
  return instruction === undefined && code === undefined && skip === undefined;
}

/** Returns the names of the provided fields without their values: a value can contain a one-time code. */
function listOverriddenFields(override: StepOverride): string[] {
  return Object.entries(override).flatMap(([name, value]) => (value === undefined || name === 'stepId' ? [] : [name]));
}

function describeResumeReason(override: StepOverride | undefined, step: StepRow | null): string {
  const fields = override ? listOverriddenFields(override) : [];
  return step && fields.length
    ? `a person provided ${fields.join(', ')} for step ${step.stepId}`
    : 'a person resumed it';
}
