import type { NotificationChannel, WebhookEndpoint } from '../../api/generated';
import { Time } from '../../format/time';
import { StatusMark } from '../../ui/status-mark';

interface ReceiverStateProps {
  receiver: Pick<WebhookEndpoint | NotificationChannel, 'enabled' | 'turnedOffReason' | 'turnedOffAt' | 'failingSince'>;
  /** Noun for one message that the receiver gets, such as `delivery`. */
  sent: string;
  /** Text for a receiver that was turned off because its address no longer accepts anything. */
  gone: string;
}

/** State of an endpoint or a channel: whether it is enabled, and since when nothing has reached it. */
export function ReceiverState({ receiver, sent, gone }: ReceiverStateProps) {
  const { enabled, turnedOffReason, turnedOffAt, failingSince } = receiver;
  const reason = turnedOffReason === 'gone' ? gone : `every ${sent} failed for five days`;
  return (
    <>
      <StatusMark status={enabled ? 'enabled' : 'disabled'} />
      {turnedOffReason && (
        <p className="text-xs text-bad">
          turned off: {reason} <Time at={turnedOffAt} relative />
        </p>
      )}
      {enabled && failingSince && (
        <p className="text-xs text-warn">
          every {sent} has failed since <Time at={failingSince} relative />
        </p>
      )}
    </>
  );
}
