import { type ChannelFilter, severities, type WebhookType } from '@muster/contracts';
import { severityOf } from '../messages/write-message';

/** A fact as it is filtered: with the labels of the machine that it is about. */
export interface FilteredFact {
  type: WebhookType;
  data: Record<string, unknown>;
  labels: string[];
}

/** Whether a channel gets a fact that it wants. A filter by workflows or labels holds back what has none. */
export function passesFilter(filter: ChannelFilter | null, { type, data, labels }: FilteredFact): boolean {
  if (!filter) return true;
  const { workflowIds, labels: wanted, severity } = filter;
  const workflowId = data['workflowId'] ?? data['scriptId'];
  if (workflowIds?.length && !(typeof workflowId === 'string' && workflowIds.includes(workflowId))) return false;
  if (wanted?.length && !wanted.some((label) => labels.includes(label))) return false;
  return !severity || severities.indexOf(severityOf(type)) >= severities.indexOf(severity);
}
