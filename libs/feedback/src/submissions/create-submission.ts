import { audit, type Principal } from '@muster/access';
import { AppError, trackerNames } from '@muster/contracts';
import type { FeedbackSubmissionEntity, Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import type { FeedbackReport } from './parse-feedback-payload';

type CreatedRow = Pick<FeedbackSubmissionEntity, 'id' | 'type' | 'status' | 'createdAt'>;

/** Inserts a submission with its work item and links, and enqueues a message that syncs it to the trackers. */
export async function createSubmission(
  tx: Transaction,
  caller: Principal,
  { id, report, screenshotKey }: { id: string; report: FeedbackReport; screenshotKey: string | null },
): Promise<CreatedRow> {
  const { organizationId } = caller;
  await requireReferencesOfOrganization(tx, organizationId, report);
  const { type, title, description, severity, steps, url, agentId, workflowId, jobId } = report;
  const [row] = await tx.query<CreatedRow>(
    `INSERT INTO feedback_submission (id, organization_id, type, title, description, severity, steps, url, agent_id,
       workflow_id, job_id, reporter_id, reporter_email, screenshot_key)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
     RETURNING id, type, status, created_at`,
    [
      ...[id, organizationId, type, title, description],
      ...[severity, steps, url, agentId, workflowId, jobId].map((value) => value ?? null),
      ...[caller.id, caller.kind === 'user' ? caller.email : null, screenshotKey],
    ],
  );
  tx.deferStatement('INSERT INTO feedback_work_item (submission_id, organization_id) VALUES ($1, $2)', [
    id,
    organizationId,
  ]);
  for (const tracker of trackerNames) {
    tx.deferStatement(
      'INSERT INTO feedback_link (id, submission_id, organization_id, tracker) VALUES ($1, $2, $3, $4)',
      [newId(), id, organizationId, tracker],
    );
  }
  await tx.enqueue({ queue: 'feedback', name: 'sync-work-item', payload: { submissionId: id } });
  audit(tx, caller, { action: 'feedback.create', target: { type: 'feedback_submission', id }, changes: { type } });
  return row!;
}

const references = [
  ['agentId', 'agent', 'agent'],
  ['workflowId', 'workflow', 'workflow'],
  ['jobId', 'job', 'job'],
] as const;

async function requireReferencesOfOrganization(
  tx: Transaction,
  organizationId: string,
  report: FeedbackReport,
): Promise<void> {
  for (const [field, table, name] of references) {
    const id = report[field];
    if (id === undefined) continue;
    const found = await tx.query(`SELECT FROM ${table} WHERE id = $1 AND organization_id = $2`, [id, organizationId]);
    if (found.length === 0) {
      throw new AppError(name === 'agent' ? 'agent_not_found' : name === 'job' ? 'job_not_found' : 'not_found', {
        detail: `There is no such ${name} in this organization. Check its id.`,
      });
    }
  }
}
