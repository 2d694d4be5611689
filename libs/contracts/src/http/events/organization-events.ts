import { agentStatuses } from '../agents/agent-words';
import { DateTimeField, EnumField, IntField, JsonField, TextField, UuidField } from '../fields';
import { alertRules, alertStatuses, alertSubjectTypes } from '../asking/alert-words';
import { questionKinds, questionStatuses } from '../asking/question-words';
import { jobStatuses } from '../jobs/job-status';
import { tickOutcomes } from '../schedules/schedules';

/** Events of an organization that are not entries of an agent's timeline. */
const organizationEventTypes = ['batch', 'schedule', 'limit', 'dead_letter', 'question', 'alert'] as const;
/** An event `job` is stored here only for a job without an agent; other events of jobs are entries of a timeline. */
export type OrganizationEventType = (typeof organizationEventTypes)[number] | 'job';

const streamEventTypes = ['job', 'agent', ...organizationEventTypes] as const;
export type StreamEventType = (typeof streamEventTypes)[number];

export class OrganizationEventsQuery {
  @TextField({
    optional: true,
    max: 100,
    pattern: new RegExp(`^(${streamEventTypes.join('|')})(,(${streamEventTypes.join('|')}))*$`),
    example: 'job,agent',
    description: 'Event types to receive, separated by commas; all types when absent.',
  })
  types?: string;
  @TextField({
    optional: true,
    max: 4000,
    example: '1769851800000_7450.7453.7450',
    description: 'ID of the last event that the client has received. A Last-Event-ID header takes precedence.',
  })
  lastEventId?: string;
}

export class OrganizationJobEvent {
  @EnumField(['job']) type!: 'job';
  @UuidField() jobId!: string;
  @UuidField({ nullable: true, description: 'Agent of the job. Null if it has none yet.' }) agentId!: string | null;
  @UuidField({ nullable: true, description: 'Workflow of the job. Null if the job was deleted.' }) workflowId!:
    string | null;
  @EnumField(jobStatuses) status!: string;
  @EnumField(jobStatuses, {
    nullable: true,
    description: 'Status before the event. Equal to status if only the progress changed.',
  })
  previousStatus!: string | null;
  @JsonField({ nullable: true, description: 'Progress that the script of the job reported; null if it reported none.' })
  progress!: Record<string, unknown> | null;
  @DateTimeField() timestamp!: string;
}

export class OrganizationAgentEvent {
  @EnumField(['agent']) type!: 'agent';
  @UuidField() agentId!: string;
  @EnumField(agentStatuses) status!: string;
  @EnumField(agentStatuses, {
    nullable: true,
    description: 'Status before the event. Equal to status if the event did not change the status.',
  })
  previousStatus!: string | null;
  @TextField({ max: 65_536, example: 'idle for 30 minutes' }) why!: string;
  @DateTimeField() timestamp!: string;
}

export class OrganizationBatchEvent {
  @EnumField(['batch']) type!: 'batch';
  @UuidField() batchId!: string;
  @UuidField() workflowId!: string;
  @EnumField(['started', 'cancelling'], {
    description: 'Status of the batch. The further progress of the batch is reported by the job events of its runs.',
  })
  status!: string;
  @IntField({ example: 20, description: 'Number of runs in the batch.' }) total!: number;
  @DateTimeField() timestamp!: string;
}

export class OrganizationScheduleEvent {
  @EnumField(['schedule']) type!: 'schedule';
  @UuidField() scheduleId!: string;
  @EnumField(tickOutcomes) outcome!: string;
  @TextField({
    nullable: true,
    example: null,
    description: 'Reason why no job was launched. Null if one was launched.',
  })
  reason!: string | null;
  @UuidField({ nullable: true }) jobId!: string | null;
  @DateTimeField() timestamp!: string;
}

export class OrganizationLimitEvent {
  @EnumField(['limit']) type!: 'limit';
  @EnumField(['monthlyRunLimit', 'monthlySpendLimitUsd']) limit!: string;
  @IntField({
    example: 80,
    description: 'Percentage of the limit that has been reached, counting past usage, running jobs and reserved spend.',
  })
  percent!: number;
  @DateTimeField() timestamp!: string;
}

export class OrganizationDeadLetterEvent {
  @EnumField(['dead_letter']) type!: 'dead_letter';
  @UuidField({ description: 'ID of the dead letter, as returned by /api/dead-letters.' }) id!: string;
  @TextField({ example: 'dispatch' }) queue!: string;
  @TextField({ example: 'dispatch-agent' }) name!: string;
  @DateTimeField() timestamp!: string;
}

export class OrganizationQuestionEvent {
  @EnumField(['question']) type!: 'question';
  @UuidField() questionId!: string;
  @UuidField({ nullable: true, description: 'Job that asks. Null for a question of an autopilot session.' }) jobId!:
    string | null;
  @UuidField({ nullable: true, description: 'Autopilot session that asks. Null for a question of a job.' }) sessionId!:
    string | null;
  @UuidField() agentId!: string;
  @EnumField(questionKinds) kind!: string;
  @EnumField(questionStatuses) status!: string;
  @TextField({ max: 2000, example: 'Code from the phone' }) question!: string;
  @DateTimeField() expiresAt!: string;
  @DateTimeField() timestamp!: string;
}

export class OrganizationAlertEvent {
  @EnumField(['alert']) type!: 'alert';
  @UuidField() alertId!: string;
  @EnumField(alertRules, { example: 'run_failed' }) rule!: string;
  @EnumField(alertStatuses) status!: string;
  @EnumField(alertSubjectTypes, { example: 'workflow' }) subjectType!: string;
  @TextField({ max: 100, example: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e' }) subjectId!: string;
  @TextField({ max: 200, example: 'Claims', description: 'Name of the resource that the alert is about.' })
  subjectName!: string;
  @IntField({ example: 1, description: 'How often the condition of the rule has occurred since the alert opened.' })
  count!: number;
  @DateTimeField() timestamp!: string;
}

export class OrganizationResyncEvent {
  @EnumField(['resync']) type!: 'resync';
  @TextField({
    max: 4000,
    description: 'Event id that the client requested. The event was deleted or does not exist yet.',
  })
  lastEventId!: string;
  @DateTimeField({ description: 'Time since which events are stored.' }) oldest!: string;
  @TextField({ max: 4000, description: 'ID after which the stream continues.' }) latest!: string;
}

export type OrganizationStreamEvent =
  | OrganizationJobEvent
  | OrganizationAgentEvent
  | OrganizationBatchEvent
  | OrganizationScheduleEvent
  | OrganizationLimitEvent
  | OrganizationDeadLetterEvent
  | OrganizationQuestionEvent
  | OrganizationAlertEvent;
