import { type AlertRuleName, alertTitles, type Severity, type WebhookType } from '@muster/contracts';

/** An event as webhooks receive it, with a link to its page. */
export interface NotifiedEvent {
  type: WebhookType;
  data: Record<string, unknown>;
  link: { text: string; url: string } | null;
}

interface MessagePart {
  title: string;
  /** Error, reason or question; null if the event has none. */
  detail: string | null;
  link: { text: string; url: string } | null;
}

/** A message to people, independent of the format of e-mail, Slack or Teams. */
export interface Message {
  subject: string;
  parts: MessagePart[];
  /** Number of events that are counted but not described. */
  more: number;
}

interface EventLabel {
  title: string;
  severity: Severity;
}

const labels: Record<WebhookType, EventLabel> = {
  'job.started': { title: 'Run started', severity: 'info' },
  'job.completed': { title: 'Run completed', severity: 'info' },
  'job.failed': { title: 'Run failed', severity: 'error' },
  'job.cancelled': { title: 'Run cancelled', severity: 'info' },
  'job.stalled': { title: 'Run stalled', severity: 'warning' },
  'batch.finished': { title: 'Batch finished', severity: 'info' },
  'agent.online': { title: 'Machine online', severity: 'info' },
  'agent.offline': { title: 'Machine offline', severity: 'warning' },
  'agent.stopped': { title: 'Machine stopped', severity: 'info' },
  'agent.wake_failed': { title: 'Machine could not be started', severity: 'error' },
  'schedule.skipped': { title: 'Scheduled run skipped', severity: 'warning' },
  'schedule.failed': { title: 'Scheduled run failed to start', severity: 'error' },
  'limit.near': { title: 'Limit nearly reached', severity: 'warning' },
  'limit.reached': { title: 'Limit reached', severity: 'error' },
  'api_key.expiring': { title: 'API key expires soon', severity: 'warning' },
  'pack.promoted': { title: 'Pack version promoted', severity: 'info' },
  'installation.pinned': { title: 'Pack installation pinned', severity: 'info' },
  'autopilot.paused': { title: 'Autopilot waits for a person', severity: 'warning' },
  'autopilot.finished': { title: 'Autopilot finished', severity: 'info' },
  'feedback.resolved': { title: 'Feedback resolved', severity: 'info' },
  'question.asked': { title: 'A run asks a question', severity: 'warning' },
  'question.answered': { title: 'Question answered', severity: 'info' },
  'question.expired': { title: 'Question expired', severity: 'warning' },
  'account.set_aside': { title: 'Account set aside', severity: 'error' },
  'user.break_glass': { title: 'Emergency access was used', severity: 'error' },
  // The title and the severity of an alert are those of its rule, so that a filter by severity passes both events.
  'alert.opened': { title: 'Alert', severity: 'warning' },
  'alert.resolved': { title: 'Alert', severity: 'warning' },
  'webhook.test': { title: 'Test message', severity: 'info' },
};

/** Returns the title and the severity of an event. */
export function getEventLabel({ type, data }: Pick<NotifiedEvent, 'type' | 'data'>): EventLabel {
  if (!isAlertEventType(type)) return labels[type];
  const { title, severity } = alertTitles[data['rule'] as AlertRuleName] ?? labels[type];
  return { title: type === 'alert.resolved' ? `Resolved: ${title}` : title, severity };
}

function isAlertEventType(type: WebhookType): boolean {
  return type === 'alert.opened' || type === 'alert.resolved';
}

const maxLength = 300;

/** Writes a message about `count` events. Only `events` are described; the others are counted. */
export function writeMessage(events: readonly NotifiedEvent[], count: number): Message {
  const parts = events.map(writeMessagePart);
  const subject = count === 1 ? parts[0]!.title : `${count} notifications: ${describeEventKinds(events, count)}`;
  return { subject: shortenText(subject), parts, more: count - parts.length };
}

function writeMessagePart({ type, data, link }: NotifiedEvent): MessagePart {
  const { title } = getEventLabel({ type, data });
  if (isAlertEventType(type)) {
    const name = findFirstText((data['subject'] ?? {}) as Record<string, unknown>, ['name']);
    const count = Number(data['count']);
    const detail = count > 1 ? `It has happened ${count} times.` : null;
    return { title: shortenText(name ? `${title}: ${name}` : title), detail, link };
  }
  const names = type === 'user.break_glass' ? ['email'] : ['workflowName', 'name', 'agentName', 'limit'];
  const name = findFirstText(data, names);
  const details = type.startsWith('question.') ? ['question'] : ['error', 'reason', 'message', 'title'];
  const detail = findFirstText(data, details);
  return { title: shortenText(name ? `${title}: ${name}` : title), detail: detail && shortenText(detail), link };
}

function describeEventKinds(events: readonly NotifiedEvent[], count: number): string {
  const kinds = new Map<string, number>();
  for (const event of events) {
    const { title } = getEventLabel(event);
    kinds.set(title, (kinds.get(title) ?? 0) + 1);
  }
  const listed = [...kinds].map(([title, times]) => (times === 1 ? title : `${title} (${times})`)).join(', ');
  return count > events.length ? `${listed}, …` : listed;
}

function findFirstText(data: Record<string, unknown>, names: string[]): string | null {
  for (const name of names) {
    const value = data[name];
    if (typeof value === 'string' && value.trim()) return value.trim();
  }
  return null;
}

/**
 * Matches what a name must not bring into a message: control characters, and marks that reorder the rest of the line.
 */
const unprintable = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** Returns a text as one printable line, shortened to the length of a message's title. */
export function shortenText(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').replaceAll(unprintable, '');
  if (line.length <= maxLength) return line;
  // The text is cut between characters, because a cut within a surrogate pair would leave half a character.
  return `${line.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
