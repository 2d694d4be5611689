import { type QuestionEntity, recordOrganizationEvent, type Transaction } from '@muster/database';

export type Notified = Pick<
  QuestionEntity,
  'id' | 'organizationId' | 'jobId' | 'agentId' | 'kind' | 'status' | 'question' | 'expiresAt'
>;

/** Records the state of a question as an event of the organization. */
export function emitQuestionEvent(tx: Transaction, row: Notified): void {
  const { id: questionId, organizationId, jobId, agentId, kind, status, question, expiresAt } = row;
  const data = { questionId, jobId, agentId, kind, status, question, expiresAt: expiresAt.toISOString() };
  recordOrganizationEvent(tx, { organizationId, type: 'question', data });
}
