import { loadSecretRedactor } from '@muster/access';
import { AppError } from '@muster/contracts';
import type { AutopilotTask, PageLooked } from '@muster/contracts';
import { Database, isDatabaseUnavailable } from '@muster/database';
import { findSessionQuestion, type SessionQuestion } from '@muster/jobs';
import { maxPictureBytes, ModelAborted, ModelFault, Models, type ModelUsage } from '@muster/models';
import { Clock, runWhileRenewingLease, cleanNameForSentence, newId, type ReceivedMessage } from '@muster/platform';
import { openModelForCaller } from '@muster/pricing';
import { ObjectStorage } from '@muster/storage';
import { KeyRing } from '@muster/vault';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { isOpenSession } from '../session/autopilot-life';
import { startEndingSession, finishSessionIfMachineIsOff, applyCloseResult } from '../session/end-session';
import { insertSteps, saveSession, saveStep } from '../session/save-session';
import { changeSessionStatus } from '../session/change-session-status';
import { listSecretNames, usesPersonCode } from '../codes/attempt-codes';
import { writeCodeQuestion } from '../pauses/pause-forms';
import { pauseSession } from '../pauses/pause-session';
import { applyPauseAnswer, expiredEnding } from '../pauses/resume-session';
import { computeActiveSessionMs, lockSession, readSessionSteps, type SessionRow } from '../session/session-row';
import { requireInputValues } from '../session/start-session';
import { retryOrFailSession } from '../retry-or-fail-session';
import { hashTask } from '../task/task-key';
import { generateTask } from '../task/generate-task';
import { addModelUsage, startAttempt } from './attempts';
import { askModelForStep, type StepAnswer, type StepQuestion } from './ask-model-for-step';
import { type EndedCommand, readEndedCommand } from './ended-command';
import { issueOpenCommand, maxWakeMs, reopenLostBrowser } from './session-commands';
import { applyAttemptResult } from './apply-attempt-result';
import { applyOpenResult, applyRecheckResult, applySuccessResult } from './apply-browser-result';
import { applyModelAnswer, applyModelFailure } from './apply-model-answer';
import { recordPageSnapshot } from './record-page-snapshot';
import { createLimitReachedEnding, startNextStep } from './start-next-step';
import { listPlaceholderNames, getCurrentStep, requireTaskOfSession, type Work } from './work';

/** Lease on a model request, in ms. The process that calls the model renews it, so it expires if the process dies. */
const leaseMs = 20_000;

/** A leased model request: a question about a step, or if `question` is null, a request for the session's task. */
interface ModelRequest {
  token: string;
  session: SessionRow;
  question: StepQuestion | null;
}

type ModelResult = { step: StepAnswer } | { task: AutopilotTask } | { fault: AppError };

/**
 * Advances a session by one step. All state is in rows. When a command or a pause that the session waits for ends, a
 * queue message advances the session further. So if a process dies at any point, another process continues there.
 */
@Injectable()
export class Autopilot {
  private readonly logger = new Logger(Autopilot.name);

  constructor(
    @Inject(Database) readonly database: Database,
    @Inject(Models) private readonly models: Models,
    @Inject(KeyRing) readonly keyRing: KeyRing,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  async advanceSession(sessionId: string, message?: ReceivedMessage): Promise<void> {
    try {
      const request = await this.runLockedStep(sessionId, (work) => advanceSessionPhase(work), message);
      if (request) await this.askModelAndApply(request);
    } catch (error) {
      // Without the database, the failure cannot be recorded. The message is delivered again.
      if (isDatabaseUnavailable(error)) throw error;
      this.logger.error('could not advance an autopilot session', { err: error, sessionId });
      await retryOrFailSession(this, sessionId, message);
    }
  }

  /** Runs a step under the session's lock and then saves the session. */
  private runLockedStep(
    sessionId: string,
    step: (work: Work) => Promise<ModelRequest | void>,
    message?: ReceivedMessage,
  ): Promise<ModelRequest | void> {
    return this.database.transaction('system', async (tx) => {
      if (message) tx.markMessageHandled(message);
      const session = await lockSession(tx, sessionId);
      if (!session || session.phase === 'over') return;
      const work: Work = { tx, keyRing: this.keyRing, session, steps: await readSessionSteps(tx, sessionId) };
      const request = await step(work);
      Object.assign(session, { faults: 0, ringAt: null });
      for (const each of work.steps) saveStep(tx, each);
      saveSession(tx, session);
      return request;
    });
  }

  private async askModelAndApply(request: ModelRequest): Promise<void> {
    const { token, session } = request;
    let result: ModelResult;
    // Usage of the model call; null if no model was called.
    let usage: ModelUsage | null = null;
    try {
      [result, usage] = await runWhileRenewingLease(
        () => this.renewModelLease(session.id, token),
        (lost) => this.callModelWithLease(request, lost),
        leaseMs / 4,
      );
    } catch (error) {
      if (error instanceof ModelAborted) return;
      if (!(error instanceof AppError)) throw error;
      if (error instanceof ModelFault) usage = error.usage;
      result = { fault: error };
    }
    await this.runLockedStep(session.id, (work) => applyModelResult(work, { token, result, usage }));
  }

  private async callModelWithLease(
    { session, question }: ModelRequest,
    signal: AbortSignal,
  ): Promise<[ModelResult, ModelUsage]> {
    const { database, keyRing, models, clock } = this;
    const { id: sessionId, organizationId, agentId, intent } = session;
    const caller = { organizationId, agentId, sessionId, purpose: 'autopilot' as const };
    const model = await openModelForCaller({ database, keyRing, models, clock }, caller);
    const hidden = await loadSecretRedactor({ database, keyRing }, { organizationId, agentId });
    if (!question) {
      const { task, usage } = await generateTask(model, hidden.text(intent!));
      return [{ task }, usage];
    }
    const { screenshotKey } = question.look;
    const limits = { maxBytes: maxPictureBytes };
    const picture = screenshotKey ? await this.storage.get(screenshotKey, limits).catch(() => null) : null;
    const answer = await askModelForStep(model, hidden.deep(question), { picture, signal });
    return [{ step: answer.value }, answer.usage];
  }

  private async renewModelLease(sessionId: string, token: string): Promise<boolean> {
    const rows = await this.database.queryUnflushed(
      'system',
      `UPDATE autopilot_session SET due_at = muster_now() + $3 * interval '1 millisecond'
       WHERE id = $1 AND asking = $2 RETURNING id`,
      [sessionId, token, leaseMs],
      'renew_autopilot_asking',
    );
    return rows.length > 0;
  }
}

async function advanceSessionPhase(work: Work): Promise<ModelRequest | void> {
  const { tx, session } = work;
  const { commandId, status, ending } = session;
  const late = session.dueAt !== null && session.dueAt <= session.now;
  if (!ending && status === 'paused') {
    const question = await readPauseQuestion(work);
    if (question && question.status !== 'open') {
      await applyPauseAnswer(work, question);
      return session.phase === 'begin' && !session.ending ? advanceSessionPhase(work) : undefined;
    }
    return late ? startEndingSession(work, expiredEnding) : undefined;
  }
  if (!ending && computeActiveSessionMs(session) >= session.maxActiveMs) {
    return startEndingSession(
      work,
      createLimitReachedEnding(`its limit of ${session.maxActiveMs / 60_000} minutes is used up`),
    );
  }
  const command = commandId ? await readEndedCommand(tx, commandId) : null;
  if (command?.status === 'pending') {
    if (session.phase === 'close' && (await finishSessionIfMachineIsOff(work))) return;
    // The sweep for lost messages caused this call. The command is still running; its end will enqueue a message.
    if (late) session.dueAt = new Date(session.now.getTime() + leaseMs);
    return;
  }
  const answered: EndedCommand = command ?? {
    status: 'failed',
    output: null,
    error: 'The session’s command no longer exists.',
    code: null,
  };
  if (commandId && session.phase !== 'close') session.commandId = null;
  switch (session.phase) {
    case 'plan':
      return isOverBudget(session) ? endSessionOverBudget(work) : leaseModelRequest(work, null);
    case 'open':
      return applyOpenResult(work, answered);
    case 'begin':
      if (status === 'resumed') {
        await changeSessionStatus(tx, session, {
          change: 'continue',
          source: 'dispatcher',
          reason: 'it continues where it paused',
        });
      }
      return startNextStep(work);
    case 'look':
      return applySnapshotResult(work, answered);
    case 'ask':
      return askModel(work);
    case 'act':
      return applyAttemptResult(work, answered);
    case 'recheck':
      return applyRecheckResult(work, answered);
    case 'check':
      return applySuccessResult(work, answered);
    case 'close':
      return applyCloseResult(work, answered);
    case 'over':
  }
}

/** Returns the question of a paused session; undefined if a process of the previous version paused it. */
async function readPauseQuestion({ tx, session }: Work): Promise<SessionQuestion | undefined> {
  const id = session.pausedFor?.questionId;
  return id ? findSessionQuestion(tx, { id, sessionId: session.id }) : undefined;
}

/**
 * Processes a page snapshot. If the page requires a captcha or a one-time code, asks a person; otherwise the model.
 */
async function applySnapshotResult(work: Work, { status, output }: EndedCommand): Promise<ModelRequest | void> {
  const { session } = work;
  if (status === 'failed') return reopenLostBrowser(work);
  await recordPageSnapshot(work, (output as unknown as PageLooked).look);
  const { step, taskStep } = getCurrentStep(work);
  const { asksFor } = session.look!;
  // A code is typed once: if the page still asks for one, the person is asked for another.
  const needsCode = asksFor === 'one_time_code' && usesPersonCode(step.instruction) && step.tried.length > 0;
  if (asksFor && (step.instruction === null || needsCode)) {
    const question =
      asksFor === 'captcha'
        ? `The page asks for proof that a person is there (a captcha) in “${cleanNameForSentence(taskStep.title)}”.`
        : writeCodeQuestion(taskStep.title);
    return pauseSession(work, { reason: asksFor, question });
  }
  const attemptId = await startAttempt(work, step, 'model');
  session.held = {
    attemptId,
    strategy: 'model',
    from: 0,
    submitting: false,
    sentBefore: step.submitted,
    done: [],
    steps: [],
  };
  session.phase = 'ask';
  return askModel(work);
}

async function askModel(work: Work): Promise<ModelRequest | void> {
  const { session } = work;
  if (session.asking && session.dueAt && session.dueAt > session.now) return;
  if (isOverBudget(session)) return endSessionOverBudget(work);
  const { step, taskStep } = getCurrentStep(work);
  const { title, goal } = requireTaskOfSession(session);
  const { inputs, look } = session;
  const secrets = await listSecretNames(work, step.instruction);
  return leaseModelRequest(work, {
    task: { title, goal },
    step: {
      id: taskStep.id,
      title: taskStep.title,
      instruction: step.instruction ?? taskStep.instruction,
      expect: taskStep.expect ?? null,
      kind: taskStep.kind,
    },
    inputs: Object.keys(inputs),
    secrets,
    attempt: step.tried.length,
    lastError: step.lastError,
    look: look!,
  });
}

function isOverBudget({ costMicros, maxCostMicros }: SessionRow): boolean {
  return costMicros >= maxCostMicros;
}

function endSessionOverBudget(work: Work): Promise<void> {
  return startEndingSession(work, createLimitReachedEnding('its limit for the cost of model calls is used up'));
}

function leaseModelRequest({ session }: Work, question: StepQuestion | null): ModelRequest | void {
  if (session.asking && session.dueAt && session.dueAt > session.now) return;
  session.asking = newId();
  session.dueAt = new Date(session.now.getTime() + leaseMs);
  return { token: session.asking, session: { ...session }, question };
}

/** Applies the result of a model request if its lease still holds. Otherwise only the cost of the request counts. */
async function applyModelResult(
  work: Work,
  { token, result, usage }: { token: string; result: ModelResult; usage: ModelUsage | null },
): Promise<void> {
  const { session } = work;
  const holds = session.asking === token && isOpenSession(session.status) && !session.ending;
  if (usage) addModelUsage(work, holds ? (session.held?.attemptId ?? null) : null, usage);
  if (!holds) return;
  session.asking = null;
  if (session.phase === 'plan') return applyModelPlan(work, result);
  if ('fault' in result) return applyModelFailure(work, result.fault);
  if ('step' in result) return applyModelAnswer(work, result.step);
}

async function applyModelPlan(work: Work, result: ModelResult): Promise<void> {
  const { tx, session } = work;
  const failSession = (error: AppError) =>
    startEndingSession(work, { to: 'failed', error: error.message, code: error.code });
  if ('fault' in result) return failSession(result.fault);
  if (!('task' in result)) return;
  try {
    requireInputValues(result.task, listPlaceholderNames(session));
  } catch (error) {
    if (error instanceof AppError) return failSession(error);
    throw error;
  }
  session.task = result.task;
  session.taskKey = hashTask(result.task);
  insertSteps(tx, session, result.task);
  await issueOpenCommand(tx, session, { waitsMs: maxWakeMs });
}
