import { hideSecrets } from '@muster/access';
import { AppError } from '@muster/contracts';
import type { AutopilotTask, PageLooked } from '@muster/contracts';
import { Database, isDatabaseUnavailable } from '@muster/database';
import { maxPictureBytes, ModelAborted, ModelFault, Models, type ModelUsage } from '@muster/models';
import { Clock, type MessageInHand, newId } from '@muster/platform';
import { openModel } from '@muster/pricing';
import { ObjectStorage } from '@muster/storage';
import { KeyRing } from '@muster/vault';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { isOpen } from '../session/autopilot-life';
import { beginEnding, finishIfOff, settleClose } from '../session/end-session';
import { insertSteps, keepPlace, keepStep } from '../session/keep-place';
import { moveSession } from '../session/move-session';
import { pauseSession } from '../session/pause-session';
import { activeMsOf, lockSession, readSteps, type SessionRow } from '../session/session-row';
import { requireInputs } from '../session/start-session';
import { takeBreakdown } from '../take-breakdown';
import { taskKeyOf } from '../task/task-key';
import { writeTask } from '../task/write-task';
import { addUsage, beginAttempt } from './attempts';
import { askStep, type StepAnswer, type StepQuestion } from './ask-step';
import { type EndedCommand, readCommand } from './ended-command';
import { issueOpen, longestWakeMs, loseBrowser } from './session-commands';
import { settleAttempt } from './settle-attempt';
import { settleOpen, settleRecheck, settleSuccess } from './settle-browser';
import { takeAnswer, takeFault } from './take-answer';
import { takeLook } from './take-look';
import { limitReached, takeStep } from './take-step';
import { namesOf, stepAt, taskOf, type Work } from './work';

/** Duration of the lease on a model request. The process that calls the model renews it; a dead process does not. */
const leaseMs = 20_000;
const renewEveryMs = 5000;

/** A leased model request. Without a question, it asks for the session's task. */
interface Asking {
  token: string;
  session: SessionRow;
  question: StepQuestion | null;
}

type Asked = { step: StepAnswer } | { task: AutopilotTask } | { fault: AppError };

/**
 * Advances a session by one step. All state is in rows, and what a session waits for enqueues a message when it ends.
 * So if a process dies at any point, another one continues from there.
 */
@Injectable()
export class Autopilot {
  private readonly logger = new Logger(Autopilot.name);

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Models) private readonly models: Models,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  async advance(sessionId: string, message?: MessageInHand): Promise<void> {
    try {
      const asking = await this.handle(sessionId, (work) => forward(work), message);
      if (asking) await this.ask(asking);
    } catch (error) {
      // The failure cannot be recorded either. The message is delivered again.
      if (isDatabaseUnavailable(error)) throw error;
      this.logger.error('could not advance an autopilot session', { err: error, sessionId });
      await takeBreakdown(this.database, sessionId, message);
    }
  }

  /** Runs a step under the session's lock and then saves the session. */
  private handle(
    sessionId: string,
    step: (work: Work) => Promise<Asking | void>,
    message?: MessageInHand,
  ): Promise<Asking | void> {
    return this.database.transaction('system', async (tx) => {
      if (message) tx.handles(message);
      const session = await lockSession(tx, sessionId);
      if (!session || session.phase === 'over') return;
      const work: Work = { tx, session, steps: await readSteps(tx, sessionId) };
      const asking = await step(work);
      Object.assign(session, { faults: 0, ringAt: null });
      for (const each of work.steps) keepStep(tx, each);
      keepPlace(tx, session);
      return asking;
    });
  }

  private async ask({ token, session, question }: Asking): Promise<void> {
    const { id: sessionId, organizationId, agentId } = session;
    const ended = new AbortController();
    const renewal = setInterval(() => {
      this.renew(sessionId, token).then(
        (held) => held || ended.abort(),
        () => undefined,
      );
    }, renewEveryMs);
    let asked: Asked;
    // Null if no model was called.
    let usage: ModelUsage | null = null;
    try {
      const caller = { organizationId, agentId, sessionId, purpose: 'autopilot' as const };
      const { database, keyRing, models, clock } = this;
      const model = await openModel({ database, keyRing, models, clock }, caller);
      const hidden = await hideSecrets({ database, keyRing }, organizationId);
      if (question) {
        const { screenshotKey } = question.look;
        const limits = { maxBytes: maxPictureBytes };
        const picture = screenshotKey ? await this.storage.get(screenshotKey, limits).catch(() => null) : null;
        const answer = await askStep(model, hidden.deep(question), { picture, signal: ended.signal });
        [asked, usage] = [{ step: answer.value }, answer.usage];
      } else {
        const written = await writeTask(model, hidden.text(session.intent!));
        [asked, usage] = [{ task: written.task }, written.usage];
      }
    } catch (error) {
      if (error instanceof ModelAborted) return;
      if (!(error instanceof AppError)) throw error;
      if (error instanceof ModelFault) usage = error.usage;
      asked = { fault: error };
    } finally {
      clearInterval(renewal);
    }
    await this.handle(sessionId, (work) => takeAsked(work, { token, asked, usage }));
  }

  private async renew(sessionId: string, token: string): Promise<boolean> {
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

async function forward(work: Work): Promise<Asking | void> {
  const { tx, session } = work;
  const { commandId, status, ending } = session;
  const late = session.dueAt !== null && session.dueAt <= session.now;
  if (!ending && status === 'paused') {
    if (!late) return;
    const error = 'The question of the paused session was not answered in time.';
    return beginEnding(work, { to: 'failed', error, code: 'execution_timeout' });
  }
  if (!ending && activeMsOf(session) >= session.maxActiveMs) {
    return beginEnding(work, limitReached(`its limit of ${session.maxActiveMs / 60_000} minutes is used up`));
  }
  const command = commandId ? await readCommand(tx, commandId) : null;
  if (command?.status === 'pending') {
    if (session.phase === 'close' && (await finishIfOff(work))) return;
    // The end of the command enqueues a message. Before that, only the sweep for lost messages leads here.
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
      return isOverBudget(session) ? endOverBudget(work) : lease(work, null);
    case 'open':
      return settleOpen(work, answered);
    case 'begin':
      if (status === 'resumed') {
        await moveSession(tx, session, { move: 'go_on', source: 'dispatcher', reason: 'it continues where it paused' });
      }
      return takeStep(work);
    case 'look':
      return settleLook(work, answered);
    case 'ask':
      return askNow(work);
    case 'act':
      return settleAttempt(work, answered);
    case 'recheck':
      return settleRecheck(work, answered);
    case 'check':
      return settleSuccess(work, answered);
    case 'close':
      return settleClose(work, answered);
    case 'over':
  }
}

/** Processes a page snapshot: asks a person if the page wants a captcha or a one-time code, and otherwise the model. */
async function settleLook(work: Work, { status, output }: EndedCommand): Promise<Asking | void> {
  const { session } = work;
  if (status === 'failed') return loseBrowser(work);
  await takeLook(work, (output as unknown as PageLooked).look);
  const { step, asked } = stepAt(work);
  const { asksFor } = session.look!;
  if (asksFor && step.instruction === null) {
    const what = asksFor === 'captcha' ? 'proof that a person is there (a captcha)' : 'a one-time code';
    return pauseSession(work, { reason: asksFor, question: `The page asks for ${what} in “${asked.title}”.` });
  }
  const attemptId = await beginAttempt(work, step, 'model');
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
  return askNow(work);
}

function askNow(work: Work): Promise<Asking | void> | Asking | void {
  const { session } = work;
  if (session.asking && session.dueAt && session.dueAt > session.now) return;
  if (isOverBudget(session)) return endOverBudget(work);
  const { step, asked } = stepAt(work);
  const { title, goal } = taskOf(session);
  const { inputs, vaultKeys, look } = session;
  return lease(work, {
    task: { title, goal },
    step: {
      id: asked.id,
      title: asked.title,
      instruction: step.instruction ?? asked.instruction,
      expect: asked.expect ?? null,
      kind: asked.kind,
    },
    inputs: Object.keys(inputs),
    secrets: vaultKeys,
    attempt: step.tried.length,
    lastError: step.lastError,
    look: look!,
  });
}

function isOverBudget({ costMicros, maxCostMicros }: SessionRow): boolean {
  return costMicros >= maxCostMicros;
}

function endOverBudget(work: Work): Promise<void> {
  return beginEnding(work, limitReached('its limit for the cost of model calls is used up'));
}

function lease({ session }: Work, question: StepQuestion | null): Asking | void {
  if (session.asking && session.dueAt && session.dueAt > session.now) return;
  session.asking = newId();
  session.dueAt = new Date(session.now.getTime() + leaseMs);
  return { token: session.asking, session: { ...session }, question };
}

/** Applies the result of a model request if its lease still holds. Otherwise only the cost of the request counts. */
async function takeAsked(
  work: Work,
  { token, asked, usage }: { token: string; asked: Asked; usage: ModelUsage | null },
): Promise<void> {
  const { session } = work;
  const holds = session.asking === token && isOpen(session.status) && !session.ending;
  if (usage) addUsage(work, holds ? (session.held?.attemptId ?? null) : null, usage);
  if (!holds) return;
  session.asking = null;
  if (session.phase === 'plan') return takePlan(work, asked);
  if ('fault' in asked) return takeFault(work, asked.fault);
  if ('step' in asked) return takeAnswer(work, asked.step);
}

async function takePlan(work: Work, asked: Asked): Promise<void> {
  const { tx, session } = work;
  const fail = (error: AppError) => beginEnding(work, { to: 'failed', error: error.message, code: error.code });
  if ('fault' in asked) return fail(asked.fault);
  if (!('task' in asked)) return;
  try {
    requireInputs(asked.task, namesOf(session));
  } catch (error) {
    if (error instanceof AppError) return fail(error);
    throw error;
  }
  session.task = asked.task;
  session.taskKey = taskKeyOf(asked.task);
  insertSteps(tx, session, asked.task);
  await issueOpen(tx, session, { waitsMs: longestWakeMs });
}
