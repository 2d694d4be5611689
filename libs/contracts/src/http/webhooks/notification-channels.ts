import {
  BooleanField,
  DateTimeField,
  EnumField,
  IdListField,
  IntField,
  ListField,
  ObjectField,
  TextField,
  TextListField,
  UrlField,
  UuidField,
} from '../fields';
import {
  type ChannelKind,
  channelKinds,
  type MessageStatus,
  messageStatuses,
  severities,
  type Severity,
  type TurnedOffReason,
  turnedOffReasons,
  webhookTypes,
} from './webhook-words';

const name = { max: 100, visible: true, example: 'Front desk' };
const recipients = {
  maxItems: 20,
  max: 254,
  example: ['desk@practice.example'],
  description: 'Of the kind email: who is written to. Each gets a message of its own.',
};
const address = {
  example: 'https://hooks.slack.com/services/T000/B000/XXXX',
  description:
    'Of slack and teams the address of an incoming webhook, which is a secret and never shown again; of webhook any address.',
};
const events = {
  minItems: 1,
  maxItems: webhookTypes.length + 1,
  values: ['*', ...webhookTypes],
  example: ['job.failed', 'question.asked'],
  description: 'What it gets; * is everything.',
};

export class NotificationFilter {
  @IdListField({ optional: true, description: 'Facts of runs, questions and schedules of these workflows alone.' })
  workflowIds?: string[];
  @TextListField({
    optional: true,
    maxItems: 50,
    max: 64,
    example: ['front-desk'],
    description: 'Facts of machines, and of what runs on machines, with one of these labels alone.',
  })
  labels?: string[];
  @EnumField(severities, { optional: true, example: 'warning', description: 'Facts that matter so much at least.' })
  severity?: Severity;
}

export class CreateNotificationChannelBody {
  @TextField(name) name!: string;
  @EnumField(channelKinds) kind!: ChannelKind;
  @TextListField({ ...recipients, optional: true }) recipients?: string[];
  @UrlField({ ...address, optional: true }) url?: string;
  @TextListField(events) events!: string[];
  @ObjectField(() => NotificationFilter, { optional: true, nullable: true }) filter?: NotificationFilter | null;
  @BooleanField({ optional: true, example: true }) enabled?: boolean;
}

export class UpdateNotificationChannelBody {
  @TextField({ ...name, optional: true }) name?: string;
  @TextListField({ ...recipients, optional: true }) recipients?: string[];
  @UrlField({ ...address, optional: true }) url?: string;
  @TextListField({ ...events, optional: true }) events?: string[];
  @ObjectField(() => NotificationFilter, { optional: true, nullable: true }) filter?: NotificationFilter | null;
  @BooleanField({ optional: true, description: 'true also turns one on again that the service turned off.' })
  enabled?: boolean;
}

export class NotificationAttempt {
  @DateTimeField() at!: string;
  @EnumField(messageStatuses, {
    example: 'delivered',
    description: 'What became of the message; unclear: it may have arrived, and is not sent again.',
  })
  status!: MessageStatus;
  @IntField({ nullable: true, example: 200, description: 'What Slack, Teams, the mail relay or the address answered.' })
  statusCode!: number | null;
  @TextField({ nullable: true, max: 500, example: null }) error!: string | null;
}

export class NotificationChannel {
  @UuidField() id!: string;
  @TextField(name) name!: string;
  @EnumField(channelKinds) kind!: ChannelKind;
  @TextListField(recipients) recipients!: string[];
  @TextField({ nullable: true, max: 255, example: 'hooks.slack.com', description: 'Of slack and teams; else null.' })
  host!: string | null;
  @UrlField({ nullable: true, example: null, description: 'Of the kind webhook; else null.' }) url!: string | null;
  @TextListField(events) events!: string[];
  @ObjectField(() => NotificationFilter, { nullable: true }) filter!: NotificationFilter | null;
  @BooleanField({ example: true }) enabled!: boolean;
  @EnumField(turnedOffReasons, { nullable: true, description: 'Why the service turned it off; null where it did not.' })
  turnedOffReason!: TurnedOffReason | null;
  @DateTimeField({ nullable: true }) turnedOffAt!: string | null;
  @DateTimeField({ nullable: true, description: 'Since when nothing has reached it.' }) failingSince!: string | null;
  @ObjectField(() => NotificationAttempt, { nullable: true, description: 'The last time that something was sent.' })
  lastAttempt!: NotificationAttempt | null;
  @DateTimeField() createdAt!: string;
  @DateTimeField() updatedAt!: string;
}

export class NotificationChannelWithSecret extends NotificationChannel {
  @TextField({
    nullable: true,
    description: 'Of the kind webhook: what deliveries are signed with (Standard Webhooks). It is never shown again.',
    example: null,
  })
  secret!: string | null;
}

export class NotificationChannelList {
  @ListField(() => NotificationChannel) notificationChannels!: NotificationChannel[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class NotificationTestStarted {
  @IntField({ example: 1, description: 'So many messages are on their way: one to each recipient.' }) messages!: number;
}
