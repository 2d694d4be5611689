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
  @IntField({
    description: 'Number of times that the message was delivered. Repeated deliveries have no further effect.',
    example: 1,
  })
  deliveries!: number;
}

export class RequestQueueProbesBody {
  @EnumField(queueNames, { optional: true, description: 'Queue to send probe messages to; all queues if absent.' })
  queue?: string;
  @IntField({ optional: true, min: 1, max: 1000, example: 1, description: 'Number of probe messages for each queue.' })
  count?: number;
}

export class QueueProbeList {
  @ListField(() => QueueProbe, { maxItems: 10_000 }) probes!: QueueProbe[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class QueueState {
  @EnumField(queueNames) name!: string;
  @TextField({ example: 'dispatcher' }) app!: string;
  @TextField({ example: 'starts jobs; wakes, stops and recovers agents' }) purpose!: string;
  @IntField({ description: 'Number of committed messages that have not been handled yet.', example: 0 })
  waiting!: number;
  @DateTimeField({ nullable: true }) oldestWaitingAt!: string | null;
  @IntField({ description: 'Number of dead letters: messages that failed in their last attempt.', example: 0 })
  dead!: number;
  @IntField({
    nullable: true,
    description: 'Number of messages handled in the last hour. Null if Redis does not respond.',
  })
  handledLastHour!: number | null;
  @NumberField({
    nullable: true,
    description:
      'Messages handled per minute, averaged over the last five full minutes. Null if Redis does not respond.',
    example: 12.4,
  })
  handledPerMinute!: number | null;
  @IntField({
    nullable: true,
    description:
      'Number of failed attempts in the last hour, including attempts that were retried. Null if Redis does not ' +
      'respond.',
  })
  failedLastHour!: number | null;
  @ObjectField(() => QueueProbe, { nullable: true, description: 'Latest probe message. Null if there is none.' })
  lastProbe!: QueueProbe | null;
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
  @JsonField({ description: 'Parameters of the message. The parameters are only ids.' }) payload!: Record<
    string,
    unknown
  >;
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
  @TextField({ optional: true, max: 200, description: 'Part of the queue name, the message name or the error.' })
  q?: string;
}
