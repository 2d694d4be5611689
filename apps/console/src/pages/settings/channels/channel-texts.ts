import type { ChannelKind } from '@muster/contracts/words';
import type { NotificationAttempt, NotificationChannel } from '../../../api/generated';

export const kindLabels: Record<ChannelKind, string> = {
  email: 'E-mail',
  slack: 'Slack',
  teams: 'Microsoft Teams',
  webhook: 'Webhook',
};

const receivers: Record<ChannelKind, string> = {
  email: 'The mail relay',
  slack: 'Slack',
  teams: 'Microsoft Teams',
  webhook: 'The address',
};

/** Returns where a channel sends its messages. The address of a Slack or Teams channel is secret, except its host. */
export function describeTarget({ target: { to = [], host, url } }: NotificationChannel): string {
  return url ?? host ?? to.join(', ');
}

/** Returns the result of an attempt to send a message as a sentence. */
export function describeAttempt(
  kind: ChannelKind,
  { status, statusCode, error }: Omit<NotificationAttempt, 'at'>,
): string {
  const receiver = receivers[kind];
  const reason = error ? `: ${error}` : '';
  if (status === 'delivered') return `${receiver} accepted the message.`;
  if (status === 'unclear') return `It is unknown whether the message arrived, so it is not sent again${reason}.`;
  if (status === 'sending') return 'The message is being sent.';
  const advice = status === 'pending' ? ' It is tried again.' : getFailureAdvice(kind, statusCode);
  if (statusCode === null) return `The message could not be sent${reason}.${advice}`;
  return `${receiver} did not accept the message${reason}.${advice}`;
}

/** Returns what to do after a message was refused for good; empty if the error says it. */
function getFailureAdvice(kind: ChannelKind, statusCode: number | null): string {
  if (kind === 'email') return statusCode === 550 ? ' Check the e-mail address.' : '';
  const isUnknown = statusCode !== null && [403, 404, 410].includes(statusCode);
  if (!isUnknown) return '';
  if (kind === 'webhook') return ' Check the address.';
  return ` Create a new incoming webhook in ${kindLabels[kind]}, and change the channel’s address.`;
}
