import type { FeedbackSubmissionEntity, FeedbackWorkItemEntity } from '@muster/database';

type ItemFields = Pick<
  FeedbackSubmissionEntity,
  'id' | 'type' | 'title' | 'description' | 'steps' | 'url' | 'agentId' | 'workflowId' | 'jobId'
> &
  Pick<FeedbackWorkItemEntity, 'severity' | 'component' | 'summary' | 'duplicates'>;

/** Returns the text by which an issue or task is found again if the answer to its creation was lost. */
export function buildMarker(submissionId: string): string {
  return `muster-feedback:${submissionId}`;
}

/** Returns the text of an issue or task. Mentions and markers in the reporter’s text are disabled. */
export function buildItemText(item: ItemFields, linkedTo: string | null): string {
  const fields = [
    ['Summary', item.summary && neutralizeMentions(item.summary)],
    ['Severity', item.severity],
    ['Component', item.component && neutralizeMentions(item.component)],
    ['Page', item.url?.replaceAll(markerPrefix, 'muster-feedback%3A')],
    ['Agent', item.agentId],
    ['Workflow', item.workflowId],
    ['Run', item.jobId],
    ['Possible duplicates', item.duplicates.join(', ')],
  ].filter(([, value]) => value);
  return [
    neutralizeMentions(item.description),
    ...(item.steps ? [`Steps:\n${neutralizeMentions(item.steps)}`] : []),
    fields.map(([name, value]) => `${name}: ${value}`).join('\n'),
    ...(linkedTo ? [formatLinkLine(linkedTo)] : []),
    buildMarker(item.id),
  ].join('\n\n');
}

export function formatLinkLine(url: string): string {
  return `Linked: ${url}`;
}

export function buildLabels({ type, severity }: Pick<ItemFields, 'type' | 'severity'>): string[] {
  return ['feedback', type, ...(severity ? [severity] : [])];
}

const markerPrefix = /muster-feedback:/gi;

/**
 * Adds a zero-width space to mentions, which would notify people, and to markers, which would be mistaken for the
 * service’s own markers.
 */
function neutralizeMentions(text: string): string {
  return text.replaceAll(/@(?=\w)/g, '@\u200b').replaceAll(markerPrefix, 'muster-feedback\u200b:');
}
