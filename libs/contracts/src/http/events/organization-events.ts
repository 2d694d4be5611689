import { agentStatuses } from '../agents/agent-words';
import { DateTimeField, EnumField, IntField, JsonField, TextField, UuidField } from '../fields';
import { questionKinds, questionStatuses } from '../asking/question-words';
import { jobStatuses } from '../jobs/job-status';
import { tickOutcomes } from '../schedules/schedules';

/** What is told of an organization beside what is on its machines' timelines. */
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
    description: 'Which events, parted by commas; all of them when absent.',
  })
  types?: string;
  @TextField({
    optional: true,
    max: 4000,
    example: '1769851800000_7450.7453.7450',
    description: 'The last id that was seen; a Last-Event-ID header goes before it.',
  })
  lastEventId?: string;
}

export class OrganizationJobEvent {
  @EnumField(['job']) type!: 'job';
  @UuidField() jobId!: string;
  @UuidField() agentId!: string;
  @UuidField({ nullable: true, description: 'Null when the job is gone.' }) workflowId!: string | null;
  @EnumField(jobStatuses) status!: string;
  @EnumField(jobStatuses, { nullable: true, description: 'The same status where the job is further than it was.' })
  previousStatus!: string | null;
  @JsonField({ nullable: true, description: 'How far the job is.' }) progress!: Record<string, unknown> | null;
  @DateTimeField() timestamp!: string;
}

export class OrganizationAgentEvent {
  @EnumField(['agent']) type!: 'agent';
  @UuidField() agentId!: string;
  @EnumField(agentStatuses) status!: string;
  @EnumField(agentStatuses, { nullable: true, description: 'The same status where something else happened to it.' })
  previousStatus!: string | null;
  @TextField({ max: 65_536, example: 'idle for 30 minutes' }) why!: string;
  @DateTimeField() timestamp!: string;
}

export class OrganizationBatchEvent {
  @EnumField(['batch']) type!: 'batch';
  @UuidField() batchId!: string;
  @UuidField() workflowId!: string;
  @EnumField(['started', 'cancelling'], { description: 'How it goes on is what its runs’ events say.' })
  status!: string;
  @IntField({ example: 20, description: 'How many runs it has.' }) total!: number;
  @DateTimeField() timestamp!: string;
}

export class OrganizationScheduleEvent {
  @EnumField(['schedule']) type!: 'schedule';
  @UuidField() scheduleId!: string;
  @EnumField(tickOutcomes) outcome!: string;
  @TextField({ nullable: true, example: null, description: 'Why nothing was launched.' }) reason!: string | null;
  @UuidField({ nullable: true }) jobId!: string | null;
  @DateTimeField() timestamp!: string;
}

export class OrganizationLimitEvent {
  @EnumField(['limit']) type!: 'limit';
  @EnumField(['monthlyRunLimit', 'monthlySpendLimitUsd']) limit!: string;
  @IntField({ example: 80, description: 'Of the limit, in percent: what is used, held or under way has come to it.' })
  percent!: number;
  @DateTimeField() timestamp!: string;
}

export class OrganizationDeadLetterEvent {
  @EnumField(['dead_letter']) type!: 'dead_letter';
  @UuidField({ description: 'As /api/dead-letters has it.' }) id!: string;
  @TextField({ example: 'dispatch' }) queue!: string;
  @TextField({ example: 'dispatch-agent' }) name!: string;
  @DateTimeField() timestamp!: string;
}

export class OrganizationQuestionEvent {
  @EnumField(['question']) type!: 'question';
  @UuidField() questionId!: string;
  @UuidField({ nullable: true, description: 'Null for one of an autopilot session.' }) jobId!: string | null;
  @UuidField() agentId!: string;
  @EnumField(questionKinds) kind!: string;
  @EnumField(questionStatuses) status!: string;
  @TextField({ max: 2000, example: 'Code from the phone' }) question!: string;
  @DateTimeField() expiresAt!: string;
  @DateTimeField() timestamp!: string;
}

export class OrganizationResyncEvent {
  @EnumField(['resync']) type!: 'resync';
  @TextField({ max: 4000, description: 'What was asked for, and is gone or not there yet.' }) lastEventId!: string;
  @DateTimeField({ description: 'From then on events are kept.' }) oldest!: string;
  @TextField({ max: 4000, description: 'The id after which the stream goes on.' }) latest!: string;
}

export type OrganizationStreamEvent =
  | OrganizationJobEvent
  | OrganizationAgentEvent
  | OrganizationBatchEvent
  | OrganizationScheduleEvent
  | OrganizationLimitEvent
  | OrganizationDeadLetterEvent
  | OrganizationQuestionEvent;
