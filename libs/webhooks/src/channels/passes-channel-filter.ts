import { type ChannelFilter, severities, type WebhookType } from '@muster/contracts';
import { getEventLabel } from '../messages/write-message';

/** An event with the labels of the agent that it is about. */
export interface FilteredEvent {
  type: WebhookType;
  data: Record<string, unknown>;
  labels: string[];
}

/** Whether an event passes a channel’s filter. A filter by workflows or labels rejects events without them. */
export function passesChannelFilter(filter: ChannelFilter | null, { type, data, labels }: FilteredEvent): boolean {
  if (!filter) return true;
  const { workflowIds, labels: wanted, severity } = filter;
  const workflowId = data['workflowId'] ?? data['scriptId'];
  if (workflowIds?.length && !(typeof workflowId === 'string' && workflowIds.includes(workflowId))) return false;
  if (wanted?.length && !wanted.some((label) => labels.includes(label))) return false;
  return !severity || severities.indexOf(getEventLabel({ type, data }).severity) >= severities.indexOf(severity);
}
