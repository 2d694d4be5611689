import type { Principal } from '@muster/access';
import { notFoundError } from '@muster/contracts';
import type { Database, FeedbackStatusChangeEntity, Transaction } from '@muster/database';
import { getVisibleReporter } from './list-submissions';
import { submissionColumns, type SubmissionRow } from './submission-row';

export type StatusChangeRow = Pick<FeedbackStatusChangeEntity, 'at' | 'fromStatus' | 'toStatus' | 'source' | 'reason'>;

interface WholeSubmission {
  submission: SubmissionRow;
  history: StatusChangeRow[];
}

/** Maximum number of status changes that are shown; the newest ones. */
const maxHistory = 1000;

/** Returns a submission with its history, oldest first. Throws not_found if the caller may not see it. */
export function findSubmission(database: Database, caller: Principal, id: string): Promise<WholeSubmission> {
  const { organizationId } = caller;
  return database.transaction({ organizationId }, (tx) => loadSubmission(tx, caller, id));
}

/** Returns a submission with its history, without a check of the caller. */
export function findAnySubmission(database: Database, organizationId: string, id: string): Promise<WholeSubmission> {
  return database.transaction({ organizationId }, (tx) => querySubmission(tx, { organizationId, id, visible: null }));
}

export function loadSubmission(tx: Transaction, caller: Principal, id: string): Promise<WholeSubmission> {
  return querySubmission(tx, { organizationId: caller.organizationId, id, visible: getVisibleReporter(caller) });
}

async function querySubmission(
  tx: Transaction,
  { organizationId, id, visible }: { organizationId: string; id: string; visible: string | null },
): Promise<WholeSubmission> {
  const [submission] = await tx.query<SubmissionRow>(
    `SELECT ${submissionColumns} FROM feedback_submission s
     WHERE s.organization_id = $1 AND s.id = $2 AND ($3::text IS NULL OR s.reporter_id = $3)`,
    [organizationId, id, visible],
  );
  if (!submission) throw notFoundError('submission');
  const history = await tx.query<StatusChangeRow>(
    `SELECT at, from_status, to_status, source, reason FROM feedback_status_change
     WHERE submission_id = $1 AND organization_id = $2 ORDER BY id DESC LIMIT ${maxHistory}`,
    [id, organizationId],
  );
  return { submission, history: history.reverse() };
}
