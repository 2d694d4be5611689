import {
  DateTimeField,
  EnumField,
  IntField,
  JsonField,
  ListField,
  NumberField,
  ObjectField,
  TextField,
  UuidField,
} from '../fields';
import { PageQuery } from '../pages';
import { queueNames } from '../../queues/catalogue';

export class QueueProbe {
  @UuidField() id!: string;
  @EnumField(queueNames) queue!: string;
  @DateTimeField() requestedAt!: string;
  @DateTimeField({ nullable: true }) handledAt!: string | null;
  @TextField({ nullable: true, example: 'dispatcher' }) handledBy!: string | null;
  @IntField({ description: 'How often the message was delivered; the work was done once.', example: 1 })
  deliveries!: number;
}

export class RequestQueueProbesBody {
  @EnumField(queueNames, { optional: true, description: 'All queues when absent.' }) queue?: string;
  @IntField({ optional: true, min: 1, max: 1000, example: 1, description: 'How many for each queue.' }) count?: number;
}

export class QueueProbeList {
  @ListField(() => QueueProbe, { maxItems: 10_000 }) probes!: QueueProbe[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class QueueState {
  @EnumField(queueNames) name!: string;
  @TextField({ example: 'dispatcher' }) app!: string;
  @TextField({ example: 'jobs to start, agents to wake and stop' }) purpose!: string;
  @IntField({ description: 'Committed and not handled yet.', example: 0 }) waiting!: number;
  @DateTimeField({ nullable: true }) oldestWaitingAt!: string | null;
  @IntField({ description: 'Given up after their last attempt.', example: 0 }) dead!: number;
  @IntField({ nullable: true, description: 'Messages; null where Redis does not answer, as in the next two.' })
  handledLastHour!: number | null;
  @NumberField({ nullable: true, description: 'Messages, over the last five whole minutes.', example: 12.4 })
  handledPerMinute!: number | null;
  @IntField({ nullable: true, description: 'Attempts that failed, those that were tried again among them.' })
  failedLastHour!: number | null;
  @ObjectField(() => QueueProbe, { nullable: true, description: 'The latest canary.' }) lastProbe!: QueueProbe | null;
}

export class QueueStateList {
  @ListField(() => QueueState) queues!: QueueState[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class DeadLetter {
  @UuidField() id!: string;
  @UuidField({ nullable: true }) organizationId!: string | null;
  @EnumField(queueNames) queue!: string;
  @TextField({ example: 'probe' }) name!: string;
  @JsonField({ description: 'Ids only.' }) payload!: Record<string, unknown>;
  @IntField({ example: 8 }) attempts!: number;
  @TextField({ nullable: true, example: 'connect ECONNREFUSED' }) lastError!: string | null;
  @DateTimeField() createdAt!: string;
}

export class DeadLetterList {
  @ListField(() => DeadLetter) deadLetters!: DeadLetter[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class DeadLetterQuery extends PageQuery {
  @EnumField(queueNames, { optional: true }) queue?: string;
  @TextField({ optional: true, max: 200, description: 'A part of its queue, its name or its error.' }) q?: string;
}
