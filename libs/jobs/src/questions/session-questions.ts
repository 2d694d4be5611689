import { shortenText } from '@muster/contracts';
import type { QuestionEntity, Transaction } from '@muster/database';
import { isSealedText, type KeyRing, openText } from '@muster/vault';
import { emitEvent } from '@muster/webhooks';
import { buildCodeAssociatedData } from './answer-question';
import { insertQuestion, type NewQuestion } from './ask-question';
import { emitQuestionEvent, type Notified, notifiedColumns } from './emit-question-event';

const maxQuestionLength = 2000;

type SessionQuestionFacts = Pick<
  NewQuestion,
  'id' | 'organizationId' | 'agentId' | 'question' | 'kind' | 'choices' | 'context' | 'screenshotKey' | 'expiresAt'
> & { sessionId: string };

/** The question of a paused session as the autopilot reads it. The answer of the kind code is not in it. */
export type SessionQuestion = Pick<QuestionEntity, 'id' | 'kind' | 'status' | 'answer' | 'reason'>;

/** Creates the question of a session that pauses. */
export function insertQuestionOfSession(tx: Transaction, facts: SessionQuestionFacts): void {
  insertQuestion(tx, {
    ...facts,
    question: shortenText(facts.question, maxQuestionLength),
    questionKey: facts.id,
    ...{ jobId: null, workflowId: null, fields: null, audience: [], defaultAnswer: null, inboundId: null },
    ...{ cut: false, takeover: false },
  });
}

export async function findSessionQuestion(
  tx: Transaction,
  { id, sessionId }: { id: string; sessionId: string },
): Promise<SessionQuestion | undefined> {
  const [row] = await tx.query<SessionQuestion>(
    'SELECT id, kind, status, answer, reason FROM question WHERE id = $1 AND session_id = $2',
    [id, sessionId],
    'question_of_session',
  );
  return row;
}

/** Returns the code that a person gave last to a session; null if there is none. */
export async function readCodeOfSession(tx: Transaction, keyRing: KeyRing, sessionId: string): Promise<string | null> {
  const [row] = await tx.query<Pick<QuestionEntity, 'id' | 'sealed'>>(
    `SELECT id, sealed FROM question WHERE session_id = $1 AND sealed IS NOT NULL
     ORDER BY ended_at DESC, id DESC LIMIT 1`,
    [sessionId],
    'code_of_session',
  );
  return row && isSealedText(row.sealed) ? openText(keyRing, buildCodeAssociatedData(row.id), row.sealed) : null;
}

/**
 * Closes the open question of a session that continues or ends without its answer: the question expires if its time has
 * passed, and is cancelled otherwise. The caller must hold the session's lock.
 */
export async function closeSessionQuestions(
  tx: Transaction,
  { organizationId, sessionId, reason }: { organizationId: string; sessionId: string; reason: string },
): Promise<void> {
  const closed = await tx.query<Notified>(
    `UPDATE question SET status = CASE WHEN expires_at <= muster_now() THEN 'expired' ELSE 'cancelled' END,
       reason = CASE WHEN expires_at > muster_now() THEN $3 END, ended_at = muster_now()
     WHERE session_id = $1 AND organization_id = $2 AND status = 'open'
     RETURNING ${notifiedColumns}`,
    [sessionId, organizationId, reason],
    'close_session_questions',
  );
  for (const row of closed) {
    emitQuestionEvent(tx, row);
    const { id, status } = row;
    if (status === 'expired')
      emitEvent(tx, { organizationId, type: 'question.expired', subjects: [{ id, details: { status } }] });
  }
}

/** Deletes the codes that people gave to a session. */
export function forgetCodesOfSession(tx: Transaction, sessionId: string): void {
  tx.deferStatement(
    'UPDATE question SET sealed = NULL WHERE session_id = $1 AND sealed IS NOT NULL',
    [sessionId],
    'forget_session_codes',
  );
}
