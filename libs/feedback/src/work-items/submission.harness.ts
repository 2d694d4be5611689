import type { Database } from '@muster/database';
import { newId } from '@muster/platform';

/** A submission that is `triaged` at 09:00, with a link to an issue that was seen as such. */
export async function insertLinkedSubmission(db: Database, organizationId: string) {
  const [id, linkId] = [newId(), newId()];
  const insert = (text: string, values: unknown[]) => db.query('system', text, values);
  await insert(
    `INSERT INTO feedback_submission (id, organization_id, type, status, status_at, title, description, reporter_id)
     VALUES ($1, $2, 'bug_report', 'triaged', '2026-03-02T09:00:00Z', 'Empty list', 'Nothing is shown.', 'somebody')`,
    [id, organizationId],
  );
  await insert('INSERT INTO feedback_work_item (submission_id, organization_id) VALUES ($1, $2)', [id, organizationId]);
  await insert(
    `INSERT INTO feedback_link (id, submission_id, organization_id, tracker, seen_status)
     VALUES ($1, $2, $3, 'codehost', 'triaged')`,
    [linkId, id, organizationId],
  );
  return { id, linkId };
}
