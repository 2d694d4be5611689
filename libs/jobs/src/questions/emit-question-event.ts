import { type QuestionEntity, recordOrganizationEvent, type Transaction } from '@muster/database';

export type Notified = Pick<
  QuestionEntity,
  'id' | 'organizationId' | 'jobId' | 'sessionId' | 'agentId' | 'kind' | 'status' | 'question' | 'expiresAt'
>;

export const notifiedColumns = 'id, organization_id, job_id, session_id, agent_id, kind, status, question, expires_at';

/** Records the state of a question as an event of the organization. */
export function emitQuestionEvent(tx: Transaction, row: Notified): void {
  const { id: questionId, organizationId, jobId, sessionId, agentId, kind, status, question, expiresAt } = row;
  const data = { questionId, jobId, sessionId, agentId, kind, status, question, expiresAt: expiresAt.toISOString() };
  recordOrganizationEvent(tx, { organizationId, type: 'question', data });
}
