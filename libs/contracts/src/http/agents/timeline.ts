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
    description: 'ID of the last event that the client has received. A Last-Event-ID header takes precedence.',
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
  @JsonField({ nullable: true, description: 'Progress that the script of the job reported; null if it reported none.' })
  progress!: Record<string, unknown> | null;
  @DateTimeField() timestamp!: string;
}

export class AgentLogEvent {
  @EnumField(['log']) type!: 'log';
  @UuidField({ nullable: true }) jobId!: string | null;
  @EnumField(logLevels) level!: LogLevel;
  @TextField({ min: 0, max: 65_536 }) message!: string;
  @IntField({ description: 'Time of the log line in Unix seconds.', example: 1_769_851_800 }) timestamp!: number;
}

export class AgentResyncEvent {
  @EnumField(['resync']) type!: 'resync';
  @TextField({
    description: 'Id that the client requested. The entry with this id was deleted or does not exist yet.',
    example: '41',
  })
  lastEventId!: string;
  @TextField({ nullable: true, description: 'ID of the oldest stored entry.', example: '90' }) oldest!: string | null;
  @TextField({ description: 'ID of the newest entry. The stream continues after it.', example: '99' }) latest!: string;
}

export class AgentLogsQuery extends PageQuery {
  @EnumField(timelineKinds, { optional: true }) kind?: TimelineKind;
  @EnumField(logLevels, { optional: true }) level?: LogLevel;
  @UuidField({ optional: true }) jobId?: string;
  @TextField({ optional: true, description: 'Part of the message, case-insensitive.' }) q?: string;
  @DateTimeField({ optional: true }) from?: string;
  @DateTimeField({ optional: true }) to?: string;
  @EnumField(listOrders, { optional: true, description: 'Order by time; desc (newest first) when absent.' })
  order?: (typeof listOrders)[number];
}

export class AgentLogEntry {
  @TextField({
    description: 'Number of the entry in the agent’s timeline; the event stream uses the same number.',
    example: '41',
  })
  id!: string;
  @EnumField(timelineKinds) kind!: TimelineKind;
  @EnumField(logLevels) level!: LogLevel;
  @TextField({ min: 0, max: 65_536 }) message!: string;
  @TextField({ nullable: true, example: 'idle_monitor' }) source!: string | null;
  @UuidField({ nullable: true }) jobId!: string | null;
  @JsonField({ nullable: true, description: 'Additional data of the entry; its fields depend on kind.' })
  data!: Record<string, unknown> | null;
  @DateTimeField() timestamp!: string;
}

export class AgentLogList {
  @ListField(() => AgentLogEntry) entries!: AgentLogEntry[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}
