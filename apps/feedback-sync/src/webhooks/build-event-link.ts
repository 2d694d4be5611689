import { isInAudienceOfQuestion, signAnswerLink } from '@muster/jobs';
import type { KeyRing } from '@muster/vault';
import type { LinkTarget, NotifiedEvent } from '@muster/webhooks';

type Linked = Pick<NotifiedEvent, 'type' | 'data'> & LinkTarget;

/**
 * Returns the link to an event’s page; null if there is no page. The recipient of an e-mail that may answer a question
 * gets an answer link. A chat room gets a link to the inbox, because its readers are not known.
 */
export function buildEventLink(
  { address, keyRing }: { address: string; keyRing: KeyRing },
  event: Linked,
): NotifiedEvent['link'] {
  const { type, data, subjectId, endpointId, recipient } = event;
  const questionId = findAnswerableQuestion(event);
  if (questionId && isInAudienceOfQuestion((data['to'] ?? []) as string[], recipient)) {
    const token = signAnswerLink(keyRing, { questionId, channelId: endpointId, recipient });
    return { text: 'Answer', url: `${address}/a/${token}` };
  }
  const path = pages[type.split('.')[0]!]?.(subjectId, data);
  return path === undefined ? null : { text: 'Open in Muster', url: `${address}/app${path}` };
}

/** Returns the question that an event asks its recipient to answer; null if there is none or no recipient. */
function findAnswerableQuestion({ type, data, subjectId, recipient }: Linked): string | null {
  if (recipient === '') return null;
  if (type === 'question.asked') return subjectId;
  const subject = data['subject'] as { type: string; id: string } | undefined;
  return type === 'alert.opened' && subject?.type === 'question' ? subject.id : null;
}

const pages: Record<string, (id: string, data: Record<string, unknown>) => string> = {
  job: (id) => `/runs/${id}`,
  agent: (id) => `/agents/${id}`,
  schedule: (id) => `/schedules/${id}`,
  autopilot: (id) => `/autopilot/${id}`,
  question: () => '/inbox',
  alert: () => '/inbox',
  limit: () => '/settings?part=Limits',
  api_key: () => '/settings?part=API+keys',
  user: () => '/settings?part=Users',
  pack: (id, { packId }) => `/packs/${typeof packId === 'string' ? packId : id}`,
  account: () => '/settings?part=Accounts',
  feedback: () => '/feedback',
};
