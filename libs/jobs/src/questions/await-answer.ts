import { AppError, notFoundError, type QuestionForWorker } from '@muster/contracts';
import type { Database, QuestionEntity } from '@muster/database';
import { type PubSub, watchUntilFinal } from '@muster/platform';
import { isSealedText, type KeyRing, openText } from '@muster/vault';
import { buildCodeAssociatedData } from './answer-question';
import type { Reporter } from '../reports/reporter';

export interface AwaitParts {
  database: Database;
  keyRing: KeyRing;
  pubSub: PubSub;
}

/**
 * Waits until the question has ended and returns it to its worker. If the question is still open when the wait time is
 * over, returns its current state.
 */
export async function awaitAnswer(
  { database, keyRing, pubSub }: AwaitParts,
  reporter: Reporter,
  { jobId, questionId, waitMs, signal }: { jobId: string; questionId: string; waitMs: number; signal: AbortSignal },
): Promise<QuestionForWorker> {
  const over = AbortSignal.any([AbortSignal.timeout(waitMs), signal]);
  const question = await watchUntilFinal(
    { pubSub, topic: 'job', id: jobId, pollMs: 1000, signal: over },
    () => readQuestionOfJob(database, reporter, { jobId, questionId }),
    ({ status }) => status !== 'open' || waitMs === 0,
  );
  return presentQuestionForWorker(question, keyRing);
}

type Read = Pick<
  QuestionEntity,
  'id' | 'questionKey' | 'kind' | 'status' | 'answer' | 'sealed' | 'reason' | 'expiresAt'
>;

async function readQuestionOfJob(
  database: Database,
  { organizationId, agentId }: Reporter,
  { jobId, questionId }: { jobId: string; questionId: string },
): Promise<Read> {
  const [row] = await database.query<Read>(
    { organizationId },
    `SELECT id, question_key, kind, status, answer, sealed, reason, expires_at FROM question
     WHERE id = $1 AND job_id = $2 AND organization_id = $3 AND ($4::uuid IS NULL OR agent_id = $4)`,
    [questionId, jobId, organizationId, agentId],
    'awaited_question',
  );
  if (!row) throw notFoundError('question');
  return row;
}

function presentQuestionForWorker(row: Read, keyRing: KeyRing): QuestionForWorker {
  const { id: questionId, questionKey, kind, status, reason, expiresAt } = row;
  if (status === 'answered' && kind === 'code' && !row.sealed) {
    throw new AppError('question_over', {
      detail: 'The run has ended, so the code was deleted. Run the workflow again.',
    });
  }
  const answer = isSealedText(row.sealed)
    ? openText(keyRing, buildCodeAssociatedData(questionId), row.sealed)
    : (row.answer?.value ?? null);
  return { questionId, questionKey, kind, status, answer, reason, expiresAt: expiresAt.toISOString() };
}
