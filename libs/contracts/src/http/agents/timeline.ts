import { DateTimeField, EnumField, IntField, JsonField, ListField, TextField, UuidField } from '../fields';
import { jobStatuses, type LogLevel, logLevels } from '../jobs/job-status';
import { listOrders, PageQuery } from '../pages';
import { agentStatuses, lifecycleEvents, lifecycleSources, type TimelineKind, timelineKinds } from './agent-words';

export class AgentEventsQuery {
  @TextField({
    optional: true,
    max: 20,
    pattern: /^\d{1,20}$/,
    example: '41',
    description: 'The last id that was seen; a Last-Event-ID header goes before it.',
  })
  lastEventId?: string;
}

export class AgentLifecycleEvent {
  @EnumField(['lifecycle']) type!: 'lifecycle';
  @EnumField(lifecycleEvents) eventType!: string;
  @EnumField(lifecycleSources, { nullable: true }) source!: string | null;
  @TextField({ max: 65_536 }) reason!: string;
  @EnumField(agentStatuses, { nullable: true }) previousStatus!: string | null;
  @EnumField(agentStatuses, { nullable: true }) currentStatus!: string | null;
  @DateTimeField() timestamp!: string;
}

export class AgentStatusEvent {
  @EnumField(['status']) type!: 'status';
  @EnumField(agentStatuses) status!: string;
  @EnumField(agentStatuses, { nullable: true }) previousStatus!: string | null;
  @DateTimeField({ nullable: true }) lastSeen!: string | null;
  @TextField({ nullable: true }) vmState!: string | null;
  @DateTimeField() timestamp!: string;
}

export class AgentJobEvent {
  @EnumField(['job']) type!: 'job';
  @UuidField() jobId!: string;
  @EnumField(jobStatuses) status!: string;
  @EnumField(jobStatuses, { nullable: true }) previousStatus!: string | null;
  @JsonField({ nullable: true, description: 'How far the job is.' }) progress!: Record<string, unknown> | null;
  @DateTimeField() timestamp!: string;
}

export class AgentLogEvent {
  @EnumField(['log']) type!: 'log';
  @UuidField({ nullable: true }) jobId!: string | null;
  @EnumField(logLevels) level!: LogLevel;
  @TextField({ min: 0, max: 65_536 }) message!: string;
  @IntField({ description: 'Unix seconds.', example: 1_769_851_800 }) timestamp!: number;
}

export class AgentResyncEvent {
  @EnumField(['resync']) type!: 'resync';
  @TextField({ description: 'What was asked for, and is gone or not there yet.', example: '41' }) lastEventId!: string;
  @TextField({ nullable: true, description: 'The oldest entry that is kept.', example: '90' }) oldest!: string | null;
  @TextField({ description: 'The newest entry, after which the stream goes on.', example: '99' }) latest!: string;
}

export class AgentLogsQuery extends PageQuery {
  @EnumField(timelineKinds, { optional: true }) kind?: TimelineKind;
  @EnumField(logLevels, { optional: true }) level?: LogLevel;
  @UuidField({ optional: true }) jobId?: string;
  @TextField({ optional: true, description: 'A part of the message, in any case.' }) q?: string;
  @DateTimeField({ optional: true }) from?: string;
  @DateTimeField({ optional: true }) to?: string;
  @EnumField(listOrders, { optional: true, description: 'desc when absent: the newest first.' })
  order?: (typeof listOrders)[number];
}

export class AgentLogEntry {
  @TextField({ description: "Its number in the agent's timeline, as the event stream has it.", example: '41' })
  id!: string;
  @EnumField(timelineKinds) kind!: TimelineKind;
  @EnumField(logLevels) level!: LogLevel;
  @TextField({ min: 0, max: 65_536 }) message!: string;
  @TextField({ nullable: true, example: 'idle_monitor' }) source!: string | null;
  @UuidField({ nullable: true }) jobId!: string | null;
  @JsonField({ nullable: true, description: 'What its kind has to say beyond the message.' })
  data!: Record<string, unknown> | null;
  @DateTimeField() timestamp!: string;
}

export class AgentLogList {
  @ListField(() => AgentLogEntry) entries!: AgentLogEntry[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}
