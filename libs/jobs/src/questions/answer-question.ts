import { issueCommand, encryptSecrets } from '@muster/commands';
import { type Actor, audit, describeCaller, type Principal, getCallerChannel } from '@muster/access';
import { type AnswerWay, AppError, notFoundError, type QuestionAnswerer, type QuestionStatus } from '@muster/contracts';
import type { ApiKeyEntity, QuestionEntity, Transaction, UserEntity } from '@muster/database';
import { type KeyRing, sealText } from '@muster/vault';
import { emitEvent } from '@muster/webhooks';
import { lockJobBeforeRead } from '../lists/job-row';
import { checkAnswer } from './check-answer';
import { listAudiencesOfCaller, questionColumns, type QuestionRow } from './question-row';
import { emitQuestionEvent } from './emit-question-event';

/** The user or message sender that gave an answer, and how the answer arrived. */
export interface Answerer {
  actor: Actor | Principal;
  via: AnswerWay;
  /**
   * The entries of a question's audience that include this user. Null for a message to an inbound address, for which
   * the audience does not apply.
   */
  audiences: string[] | null;
  /** Id of the inbound address at which the answering message arrived. */
  inboundId?: string;
}

export function toAnswerer(caller: Principal): Answerer {
  return { actor: caller, via: getCallerChannel(caller), audiences: listAudiencesOfCaller(caller) };
}

type Locked = QuestionRow & Pick<QuestionEntity, 'questionKey'>;

/**
 * Milliseconds for which an answer waits for a worker that is offline. The end of the run withdraws the answer earlier.
 */
const deliverForMs = 24 * 3_600_000;

/** Answers an open question. Throws if the question is already answered or has ended. */
export async function answerQuestion(
  tx: Transaction,
  keyRing: KeyRing,
  answerer: Answerer,
  { id, answer }: { id: string; answer: unknown },
): Promise<QuestionRow> {
  const question = await lockOpenQuestion(tx, answerer, id);
  const value = checkAnswer(question, answer);
  const isCode = question.kind === 'code';
  const { actor, via } = answerer;
  const by = await identifyAnswerer(tx, answerer);
  audit(tx, actor, {
    action: 'question.answer',
    target: { type: 'question', id },
    changes: { kind: question.kind, via },
  });
  return endOpenQuestion(tx, keyRing, question, {
    status: 'answered',
    answer: isCode ? null : { value },
    code: isCode ? (value as string) : null,
    value,
    answeredBy: describeCaller(actor),
    answerer: by,
    answeredVia: via,
    reason: null,
  });
}

/** Declines an open question. The script is notified immediately. */
export async function declineQuestion(
  tx: Transaction,
  keyRing: KeyRing,
  answerer: Answerer,
  { id, reason = null }: { id: string; reason?: string | null },
): Promise<QuestionRow> {
  const question = await lockOpenQuestion(tx, answerer, id);
  const { actor, via } = answerer;
  const by = await identifyAnswerer(tx, answerer);
  audit(tx, actor, { action: 'question.decline', target: { type: 'question', id }, changes: { reason, via } });
  return endOpenQuestion(tx, keyRing, question, {
    ...{ status: 'cancelled', answer: null, code: null, value: null },
    ...{ answeredBy: describeCaller(actor), answerer: by, answeredVia: via },
    reason: reason ?? 'The question was declined.',
  });
}

/**
 * Answers the open question of a session that a person resumes in another way, such as with code for the step. The
 * caller of this function advances the session. Throws if the question is already answered or has ended.
 */
export async function answerQuestionByResuming(
  tx: Transaction,
  keyRing: KeyRing,
  caller: Principal,
  { id, value, code }: { id: string; value: unknown; code: string | null },
): Promise<void> {
  const answerer = toAnswerer(caller);
  const question = await lockOpenQuestion(tx, answerer, id);
  await endOpenQuestion(tx, keyRing, question, {
    ...{ status: 'answered', answer: value === null ? null : { value }, code, value, reason: null },
    answeredBy: describeCaller(caller),
    answerer: await identifyAnswerer(tx, answerer),
    answeredVia: answerer.via,
    isResumed: true,
  });
}

/** Expires an open question whose time has passed. Returns null if the question has already ended. */
export async function expireQuestion(
  tx: Transaction,
  keyRing: KeyRing,
  { id, organizationId }: { id: string; organizationId: string },
): Promise<QuestionRow | null> {
  const question = await lockQuestion(tx, organizationId, id);
  if (question?.status !== 'open' || question.expiresAt > tx.now) return null;
  return endOpenQuestion(tx, keyRing, question, {
    ...{ status: 'expired', answer: null, code: null, value: null },
    ...{ answeredBy: null, answerer: null, answeredVia: null, reason: null },
  });
}

/** Returns the id and the name of the answerer as the API shows them. A person with a link may have no account. */
async function identifyAnswerer(
  tx: Transaction,
  { actor: { kind, id, organizationId, ...others }, inboundId }: Answerer,
): Promise<QuestionAnswerer> {
  const email = 'email' in others ? others.email : undefined;
  if (kind === 'user' && email !== undefined) return { id, email };
  if (email !== undefined) {
    const [user] = await tx.query<Pick<UserEntity, 'id'>>(
      'SELECT id FROM app_user WHERE organization_id = $1 AND email = $2',
      [organizationId, email.toLowerCase()],
      'user_of_link',
    );
    return { id: user?.id ?? null, email };
  }
  if (kind !== 'api_key') return { id: inboundId ?? null, name: id };
  const [key] = await tx.query<Pick<ApiKeyEntity, 'name'>>(
    'SELECT name FROM api_key WHERE id = $1 AND organization_id = $2',
    [id, organizationId],
    'name_of_key',
  );
  return { id, name: key?.name ?? id };
}

/** Locks the run first and then the question, in the same order as all code that ends runs or creates questions. */
async function lockQuestion(tx: Transaction, organizationId: string, id: string): Promise<Locked | undefined> {
  const [found] = await tx.query<Pick<QuestionEntity, 'jobId'>>(
    'SELECT job_id FROM question WHERE id = $1 AND organization_id = $2',
    [id, organizationId],
    'job_of_question',
  );
  if (!found) return undefined;
  if (found.jobId) lockJobBeforeRead(tx, organizationId, found.jobId);
  const [row] = await tx.query<Locked>(
    `SELECT ${questionColumns}, q.question_key FROM question q WHERE q.id = $1 AND q.organization_id = $2 FOR UPDATE`,
    [id, organizationId],
    'lock_question',
  );
  return row;
}

async function lockOpenQuestion(tx: Transaction, { actor, audiences }: Answerer, id: string): Promise<Locked> {
  const question = await lockQuestion(tx, actor.organizationId, id);
  if (!question) throw notFoundError('question');
  const { audience, status, expiresAt } = question;
  if (audiences && audience.length > 0 && !audience.some((entry) => audiences.includes(entry))) {
    throw new AppError('permission_denied', {
      detail: 'Only the users to whom the question is addressed can answer it. Ask one of them.',
    });
  }
  if (status === 'answered')
    throw new AppError('already_answered', { detail: 'The question has an answer already, which cannot be changed.' });
  if (status !== 'open' || expiresAt <= tx.now) {
    throw new AppError('question_over', {
      detail: `The question is ${status === 'open' ? 'expired' : status} and can no longer be answered.`,
    });
  }
  return question;
}

interface QuestionEnd extends Pick<QuestionEntity, 'answer' | 'answeredBy' | 'answerer' | 'answeredVia' | 'reason'> {
  status: Exclude<QuestionStatus, 'open'>;
  /**
   * The answered code; it is stored only encrypted and delivered only to the run. Null for other kinds of questions.
   */
  code: string | null;
  /** The value that the script receives. */
  value: unknown;
  /** Whether the session that asked is resumed in the same transaction. */
  isResumed?: boolean;
}

async function endOpenQuestion(tx: Transaction, keyRing: KeyRing, row: Locked, end: QuestionEnd): Promise<QuestionRow> {
  const { id, organizationId, jobId, sessionId, agentId } = row;
  const { status, answer, code, value, answeredBy, answerer, answeredVia, reason } = end;
  const ended = { ...row, status, answer, answeredBy, answerer, answeredVia, reason, endedAt: tx.now };
  tx.deferStatement(
    `UPDATE question SET status = $2, answer = $3, sealed = $4, answered_by = $5, answered_via = $6, reason = $7,
       answerer = $8, ended_at = muster_now() WHERE id = $1`,
    [
      ...[id, status, answer && JSON.stringify(answer)],
      ...[code === null ? null : JSON.stringify(sealText(keyRing, buildCodeAssociatedData(id), code))],
      ...[answeredBy, answeredVia, reason, answerer && JSON.stringify(answerer)],
    ],
    'end_question',
  );
  if (jobId) {
    // The time of the answer is stored as progress, so that the time for which the run waited does not count as time
    // without progress.
    tx.deferStatement('UPDATE job SET last_progress_at = muster_now() WHERE id = $1', [jobId], 'asked_job_goes_on');
    await issueCommand(tx, {
      ...{ organizationId, agentId, jobId, kind: 'answer' },
      payload: {
        ...{ jobId, questionId: id, questionKey: row.questionKey, kind: row.kind, status, reason },
        ...(status === 'answered' ? encryptSecrets(keyRing, agentId, { answer: JSON.stringify(value) }) : {}),
      },
      deadline: new Date(tx.now.getTime() + deliverForMs),
    });
    tx.notify('job', jobId);
  }
  if (sessionId && !end.isResumed)
    await tx.enqueue({ queue: 'autopilot', name: 'advance-session', payload: { sessionId } });
  emitQuestionEvent(tx, ended);
  if (status !== 'cancelled') {
    emitEvent(tx, { organizationId, type: `question.${status}`, subjects: [{ id, details: { status } }] });
  }
  return ended;
}

/** Returns the associated data for encrypting a code, so that the code cannot be decrypted for another question. */
export function buildCodeAssociatedData(questionId: string): string {
  return `question/${questionId}`;
}
