import type { FeedbackSubmission, FeedbackSubmissionDetail } from '@muster/contracts';
import { type ObjectStorage, presignDownload } from '@muster/storage';
import type { StatusChangeRow } from './find-submission';
import type { SubmissionRow } from './submission-row';

export async function presentSubmission(
  row: SubmissionRow,
  { storage, now }: { storage: ObjectStorage; now: Date },
): Promise<FeedbackSubmission> {
  const { id, type, status, title, description, severity, steps, agentId, workflowId, jobId, url } = row;
  const { issueUrl, taskUrl } = row;
  const screenshot = row.screenshotKey === null ? null : { storageKey: row.screenshotKey };
  return {
    ...{ id, type, status, title, description, severity, steps, agentId, workflowId, jobId, url },
    reporter: { id: row.reporterId, email: row.reporterEmail },
    screenshotUrl: (await presignDownload(storage, screenshot, now)).downloadUrl,
    external: issueUrl || taskUrl ? { issueUrl, taskUrl } : null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

export async function presentSubmissionDetail(
  { submission, history }: { submission: SubmissionRow; history: StatusChangeRow[] },
  parts: { storage: ObjectStorage; now: Date },
): Promise<FeedbackSubmissionDetail> {
  return {
    ...(await presentSubmission(submission, parts)),
    history: history.map(({ at, fromStatus, toStatus, source, reason }) => ({
      at: at.toISOString(),
      from: fromStatus,
      to: toStatus,
      source,
      reason,
    })),
  };
}
