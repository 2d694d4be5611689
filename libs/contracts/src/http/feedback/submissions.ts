import {
  DateTimeField,
  DayOrTimeField,
  EnumField,
  ListField,
  ObjectField,
  TextField,
  UrlField,
  UuidField,
} from '../fields';
import { PageQuery } from '../pages';
import {
  type FeedbackSeverity,
  feedbackSeverities,
  type FeedbackSource,
  feedbackSources,
  type FeedbackStatus,
  feedbackStatuses,
  type FeedbackType,
  feedbackTypes,
} from './feedback-words';

const title = { max: 200, pattern: /\S/, example: 'The claims list stays empty' };
const description = {
  max: 10_000,
  pattern: /\S/,
  example: 'After signing in, the list shows nothing until the page is loaded again.',
};
const steps = { max: 10_000, optional: true, example: '1. Sign in\n2. Open Claims' };

class FeedbackPayload {
  @TextField(title) title!: string;
  @TextField(description) description!: string;
  @UuidField({ optional: true, description: 'Id of the machine that the feedback is about.' }) agentId?: string;
}

export class FeatureRequestPayload extends FeedbackPayload {
  @EnumField(['feature_request']) type!: 'feature_request';
  @UrlField({ optional: true, description: 'Address of the page that the feedback is about.' }) url?: string;
}

export class BugReportPayload extends FeedbackPayload {
  @EnumField(['bug_report']) type!: 'bug_report';
  @EnumField(feedbackSeverities, { optional: true }) severity?: FeedbackSeverity;
  @TextField({ ...steps, description: 'Steps to reproduce the problem.' }) steps?: string;
  @UrlField({ optional: true, description: 'Address of the page that the feedback is about.' }) url?: string;
  @UuidField({ optional: true, description: 'Id of the run that the feedback is about.' }) jobId?: string;
}

export class WorkflowIssuePayload extends FeedbackPayload {
  @EnumField(['workflow_issue_report']) type!: 'workflow_issue_report';
  @UuidField({ description: 'Id of the workflow that the feedback is about.' }) workflowId!: string;
  @UuidField({ optional: true, description: 'Id of the run that the feedback is about.' }) jobId?: string;
  @EnumField(feedbackSeverities, { optional: true }) severity?: FeedbackSeverity;
}

/** Payload class of each feedback type. */
export const feedbackPayloads = {
  feature_request: FeatureRequestPayload,
  bug_report: BugReportPayload,
  workflow_issue_report: WorkflowIssuePayload,
} as const satisfies Record<FeedbackType, new () => object>;

export class FeedbackForm {
  @TextField({
    max: 65_536,
    example: '{"type":"feature_request","title":"A darker console","description":"For the night."}',
    description:
      'JSON of at most 64 KiB. feature_request {type, title, description, url?, agentId?}; bug_report {type, title, ' +
      'description, severity?, steps?, url?, agentId?, jobId?}; workflow_issue_report {type, title, description, ' +
      'workflowId, jobId?, agentId?, severity?}.',
  })
  payload!: string;

  @TextField({
    optional: true,
    format: 'binary',
    description:
      'PNG, JPEG or WebP image of at most 5 MiB. The format is detected from the content, and metadata is removed. ' +
      'Not allowed with a workflow_issue_report.',
  })
  screenshot?: string;
}

export class FeedbackReceipt {
  @UuidField() id!: string;
  @EnumField(feedbackTypes) type!: FeedbackType;
  @EnumField(feedbackStatuses) status!: FeedbackStatus;
  @DateTimeField() createdAt!: string;
}

export class FeedbackReporter {
  @TextField({ example: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e', description: 'Id of the user or of the API key.' })
  id!: string;
  @TextField({
    max: 254,
    nullable: true,
    example: 'dana@example.com',
    description: 'Email address of the user; null for an API key.',
  })
  email!: string | null;
}

export class FeedbackExternal {
  @TextField({ max: 2048, nullable: true, example: 'https://codehost.example/acme/portal/issues/12' })
  issueUrl!: string | null;
  @TextField({ max: 2048, nullable: true, example: 'https://tasks.example/t/86c1' }) taskUrl!: string | null;
}

export class FeedbackSubmission extends FeedbackReceipt {
  @TextField(title) title!: string;
  @TextField(description) description!: string;
  @EnumField(feedbackSeverities, { nullable: true }) severity!: FeedbackSeverity | null;
  @TextField({ max: 10_000, nullable: true, example: null }) steps!: string | null;
  @UuidField({ nullable: true }) agentId!: string | null;
  @UuidField({ nullable: true }) workflowId!: string | null;
  @UuidField({ nullable: true }) jobId!: string | null;
  @TextField({ max: 2048, nullable: true, example: 'https://portal.example/claims' }) url!: string | null;
  @ObjectField(() => FeedbackReporter) reporter!: FeedbackReporter;
  @TextField({
    max: 4096,
    nullable: true,
    example: null,
    description: 'Presigned URL of the screenshot, valid for an hour; null if there is none.',
  })
  screenshotUrl!: string | null;
  @ObjectField(() => FeedbackExternal, { nullable: true, description: 'Linked tracker items; null if there are none.' })
  external!: FeedbackExternal | null;
  @DateTimeField() updatedAt!: string;
}

export class FeedbackSubmissionList {
  @ListField(() => FeedbackSubmission) submissions!: FeedbackSubmission[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class FeedbackHistoryEntry {
  @DateTimeField({ description: 'Time of the entry, by the clock of the service or the tracker that made the change.' })
  at!: string;
  @EnumField(feedbackStatuses) from!: FeedbackStatus;
  @EnumField(feedbackStatuses, {
    description:
      'Status after the change. Equal to `from` if the entry records a change of something else, which `reason` ' +
      'describes.',
  })
  to!: FeedbackStatus;
  @EnumField(feedbackSources) source!: FeedbackSource;
  @TextField({ max: 2000, nullable: true, example: 'The issue was deleted.' }) reason!: string | null;
}

export class FeedbackSubmissionDetail extends FeedbackSubmission {
  @ListField(() => FeedbackHistoryEntry, { maxItems: 1000, description: 'Newest 1000 entries, oldest first.' })
  history!: FeedbackHistoryEntry[];
}

export class FeedbackFilter extends PageQuery {
  @EnumField(feedbackTypes, { optional: true }) type?: FeedbackType;
  @EnumField(feedbackStatuses, { optional: true }) status?: FeedbackStatus;
  @TextField({ optional: true, max: 200, description: 'Part of the title or the description.' }) q?: string;
  @DayOrTimeField({
    optional: true,
    description: 'Start of the period, inclusive: a day in the organization’s time zone, or a time.',
  })
  from?: string;
  @DayOrTimeField({
    optional: true,
    description: 'End of the period, inclusive: a day in the organization’s time zone, or a time.',
  })
  to?: string;
}

export class UpdateFeedbackBody {
  @EnumField(feedbackStatuses) status!: FeedbackStatus;
}

export class FeedbackAgent {
  @UuidField() id!: string;
  @TextField({ example: 'Front desk' }) name!: string;
  @TextField({ example: 'online' }) status!: string;
}

export class FeedbackAgentList {
  @ListField(() => FeedbackAgent, { maxItems: 100_000 }) agents!: FeedbackAgent[];
}

export class FeedbackExportQuery {
  @EnumField(feedbackTypes, { optional: true }) type?: FeedbackType;
  @EnumField(feedbackStatuses, { optional: true }) status?: FeedbackStatus;
  @TextField({ optional: true, example: 'Smile Dental', description: 'Id or name of the organization.' })
  organization?: string;
  @TextField({ optional: true, example: 'Front desk', description: 'Id or name of the machine.' }) vm?: string;
  @DayOrTimeField({
    optional: true,
    description: 'Start of the period, inclusive: a day in each organization’s time zone, or a time.',
  })
  from?: string;
  @DayOrTimeField({
    optional: true,
    description: 'End of the period, inclusive: a day in each organization’s time zone, or a time.',
  })
  to?: string;
}
