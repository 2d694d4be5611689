import type { FeedbackSubmissionEntity } from '@muster/database';

export type SubmissionRow = Pick<
  FeedbackSubmissionEntity,
  | 'id'
  | 'type'
  | 'status'
  | 'title'
  | 'description'
  | 'severity'
  | 'steps'
  | 'url'
  | 'agentId'
  | 'workflowId'
  | 'jobId'
  | 'reporterId'
  | 'reporterEmail'
  | 'screenshotKey'
  | 'createdAt'
  | 'updatedAt'
> & {
  issueUrl: string | null;
  taskUrl: string | null;
};

const linkUrlSql = (tracker: string) => `(SELECT l.external_url FROM feedback_link l
  WHERE l.submission_id = s.id AND l.tracker = '${tracker}' AND l.unlinked_at IS NULL)`;

/** Columns for a query with `FROM feedback_submission s`. */
export const externalColumns = `${linkUrlSql('codehost')} AS issue_url, ${linkUrlSql('tasktracker')} AS task_url`;

export const submissionColumns = `s.id, s.type, s.status, s.title, s.description, s.severity, s.steps, s.url, s.agent_id,
  s.workflow_id, s.job_id, s.reporter_id, s.reporter_email, s.screenshot_key, s.created_at, s.updated_at,
  ${externalColumns}`;
