import type { Principal } from '@muster/access';
import { AppError } from '@muster/contracts';
import type { Database, FeedbackStatusChangeEntity, Transaction } from '@muster/database';
import { visibleTo } from './list-submissions';
import { submissionColumns, type SubmissionRow } from './submission-row';

export type StatusChangeRow = Pick<FeedbackStatusChangeEntity, 'at' | 'fromStatus' | 'toStatus' | 'source' | 'reason'>;

/** So many are shown, the newest. */
const maxHistory = 1000;

/** A submission with its history, oldest first. One that the caller may not see is as one that is not there. */
export function findSubmission(
  database: Database,
  caller: Principal,
  id: string,
): Promise<{ submission: SubmissionRow; history: StatusChangeRow[] }> {
  const { organizationId } = caller;
  return database.transaction({ organizationId }, (tx) => loadSubmission(tx, caller, id));
}

export async function loadSubmission(
  tx: Transaction,
  caller: Principal,
  id: string,
): Promise<{ submission: SubmissionRow; history: StatusChangeRow[] }> {
  const [submission] = await tx.query<SubmissionRow>(
    `SELECT ${submissionColumns} FROM feedback_submission s
     WHERE s.organization_id = $1 AND s.id = $2 AND ($3::text IS NULL OR s.reporter_id = $3)`,
    [caller.organizationId, id, visibleTo(caller)],
  );
  if (!submission) throw noSuchSubmission();
  const history = await tx.query<StatusChangeRow>(
    `SELECT at, from_status, to_status, source, reason FROM feedback_status_change
     WHERE submission_id = $1 AND organization_id = $2 ORDER BY id DESC LIMIT ${maxHistory}`,
    [id, caller.organizationId],
  );
  return { submission, history: history.reverse() };
}

export function noSuchSubmission(): AppError {
  return new AppError('not_found', { detail: 'There is no such submission.' });
}
