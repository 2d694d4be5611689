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
  description: 'Addresses of the recipients, for the kind email. Each recipient gets a separate message.',
};
const address = {
  example: 'https://hooks.slack.com/services/T000/B000/XXXX',
  description:
    'For slack and teams: URL of an incoming webhook; it is a secret and is not returned again. For webhook: any ' +
    'public http or https address.',
};
const events = {
  minItems: 1,
  maxItems: webhookTypes.length + 1,
  values: ['*', ...webhookTypes],
  example: ['job.failed', 'question.asked'],
  description: 'Event types that the channel receives; * stands for all types.',
};

export class NotificationFilter {
  @IdListField({
    optional: true,
    description: 'Ids of workflows: only events of their runs, questions and schedules are sent.',
  })
  workflowIds?: string[];
  @TextListField({
    optional: true,
    maxItems: 50,
    max: 64,
    example: ['front-desk'],
    description: 'Labels: only events of machines with one of these labels, and of runs on them, are sent.',
  })
  labels?: string[];
  @EnumField(severities, {
    optional: true,
    example: 'warning',
    description: 'Minimum severity of the events that are sent.',
  })
  severity?: Severity;
}

/** Where a channel sends its messages: `to` for the kind email, `url` for the others. */
export class ChannelTarget {
  @TextListField({ ...recipients, optional: true }) to?: string[];
  @UrlField({ ...address, optional: true }) url?: string;
}

export class ShownChannelTarget {
  @TextListField({ ...recipients, optional: true }) to?: string[];
  @UrlField({
    optional: true,
    example: 'https://billing.example.com/hooks',
    description: 'Address of a channel of the kind webhook.',
  })
  url?: string;
  @TextField({
    optional: true,
    max: 255,
    example: 'hooks.slack.com',
    description: 'Host of the incoming webhook of a channel of the kind slack or teams. Its whole address is secret.',
  })
  host?: string;
}

export class CreateNotificationChannelBody {
  @TextField(name) name!: string;
  @EnumField(channelKinds) kind!: ChannelKind;
  @ObjectField(() => ChannelTarget) target!: ChannelTarget;
  @TextListField(events) events!: string[];
  @ObjectField(() => NotificationFilter, { optional: true, nullable: true }) filter?: NotificationFilter | null;
  @BooleanField({ optional: true, example: true }) enabled?: boolean;
}

export class UpdateNotificationChannelBody {
  @TextField({ ...name, optional: true }) name?: string;
  @ObjectField(() => ChannelTarget, { optional: true }) target?: ChannelTarget;
  @TextListField({ ...events, optional: true }) events?: string[];
  @ObjectField(() => NotificationFilter, { optional: true, nullable: true }) filter?: NotificationFilter | null;
  @BooleanField({
    optional: true,
    description: 'Whether the channel is on. true also turns on a channel that the service turned off.',
  })
  enabled?: boolean;
}

export class NotificationAttempt {
  @DateTimeField() at!: string;
  @EnumField(messageStatuses, {
    example: 'delivered',
    description: 'Status of the message. unclear: it may have arrived, so it is not sent again.',
  })
  status!: MessageStatus;
  @IntField({
    nullable: true,
    example: 200,
    description: 'Status code of the response of Slack, Teams, the mail relay or the address; null without a response.',
  })
  statusCode!: number | null;
  @TextField({ nullable: true, max: 500, example: null }) error!: string | null;
}

export class NotificationTestResult {
  @TextField({
    nullable: true,
    max: 254,
    example: 'front-desk@practice.example',
    description: 'Recipient of the message, for the kind email; otherwise null.',
  })
  recipient!: string | null;
  @EnumField(messageStatuses, { example: 'delivered', description: 'Status of the message to this recipient.' })
  status!: MessageStatus;
  @IntField({ nullable: true, example: 250, description: 'Status code of the last response; null without one.' })
  statusCode!: number | null;
  @TextField({ nullable: true, max: 500, example: null }) error!: string | null;
}

export class NotificationTest {
  @DateTimeField() at!: string;
  @ListField(() => NotificationTestResult) results!: NotificationTestResult[];
}

export class NotificationChannel {
  @UuidField() id!: string;
  @TextField(name) name!: string;
  @EnumField(channelKinds) kind!: ChannelKind;
  @ObjectField(() => ShownChannelTarget) target!: ShownChannelTarget;
  @TextListField(events) events!: string[];
  @ObjectField(() => NotificationFilter, { nullable: true }) filter!: NotificationFilter | null;
  @BooleanField({ example: true }) enabled!: boolean;
  @EnumField(turnedOffReasons, {
    nullable: true,
    description: 'Why the service turned the channel off; null if it did not.',
  })
  turnedOffReason!: TurnedOffReason | null;
  @DateTimeField({ nullable: true }) turnedOffAt!: string | null;
  @DateTimeField({
    nullable: true,
    description: 'Time since which every attempt has failed; otherwise null.',
  })
  failingSince!: string | null;
  @ObjectField(() => NotificationAttempt, {
    nullable: true,
    description: 'Last attempt to send a message; null if there was none.',
  })
  lastAttempt!: NotificationAttempt | null;
  @ObjectField(() => NotificationTest, {
    nullable: true,
    description: 'Last test of the channel, with the result of each recipient; null if there was none.',
  })
  lastTest!: NotificationTest | null;
  @DateTimeField() createdAt!: string;
  @DateTimeField() updatedAt!: string;
}

export class NotificationChannelWithSecret extends NotificationChannel {
  @TextField({
    nullable: true,
    description:
      'Secret that signs the deliveries of a webhook channel (Standard Webhooks); null for other kinds. Store the ' +
      'secret now, because no later response contains it.',
    example: null,
  })
  secret!: string | null;
}

export class NotificationChannelList {
  @ListField(() => NotificationChannel) notificationChannels!: NotificationChannel[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class NotificationTestStarted {
  @IntField({ example: 1, description: 'Number of test messages that are being sent: one to each recipient.' })
  messages!: number;
}
