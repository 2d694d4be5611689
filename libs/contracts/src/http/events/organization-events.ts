import { agentStatuses } from '../agents/agent-words';
import { DateTimeField, EnumField, IntField, JsonField, TextField, UuidField } from '../fields';
import { questionKinds, questionStatuses } from '../asking/question-words';
import { jobStatuses } from '../jobs/job-status';
import { tickOutcomes } from '../schedules/schedules';

/** Events of an organization that are not entries of an agent's timeline. */
const organizationEventTypes = ['batch', 'schedule', 'limit', 'dead_letter', 'question'] as const;
export type OrganizationEventType = (typeof organizationEventTypes)[number];

const streamEventTypes = ['job', 'agent', ...organizationEventTypes] as const;
export type StreamEventType = (typeof streamEventTypes)[number];

export class OrganizationEventsQuery {
  @TextField({
    optional: true,
    max: 100,
    pattern: new RegExp(`^(${streamEventTypes.join('|')})(,(${streamEventTypes.join('|')}))*$`),
    example: 'job,agent',
    description: 'Event types to receive, separated by commas; all when absent.',
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
  @UuidField() agentId!: string;
  @UuidField({ nullable: true, description: 'Workflow of the job. Null if the job was deleted.' }) workflowId!:
    string | null;
  @EnumField(jobStatuses) status!: string;
  @EnumField(jobStatuses, {
    nullable: true,
    description: 'Status before the event. Equal to status if only the progress changed.',
  })
  previousStatus!: string | null;
  @JsonField({ nullable: true, description: 'Progress of the job.' }) progress!: Record<string, unknown> | null;
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
    description: 'Status of the batch. Its further progress is reported by the job events of its runs.',
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
  @UuidField() agentId!: string;
  @EnumField(questionKinds) kind!: string;
  @EnumField(questionStatuses) status!: string;
  @TextField({ max: 2000, example: 'Code from the phone' }) question!: string;
  @DateTimeField() expiresAt!: string;
  @DateTimeField() timestamp!: string;
}

export class OrganizationResyncEvent {
  @EnumField(['resync']) type!: 'resync';
  @TextField({ max: 4000, description: 'Requested event ID. The event was deleted or does not exist yet.' })
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
  | OrganizationQuestionEvent;
