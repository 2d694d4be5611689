import type { FeedbackSubmissionEntity, FeedbackWorkItemEntity } from '@muster/database';

type Facts = Pick<
  FeedbackSubmissionEntity,
  'id' | 'type' | 'title' | 'description' | 'steps' | 'url' | 'agentId' | 'workflowId' | 'jobId'
> &
  Pick<FeedbackWorkItemEntity, 'severity' | 'component' | 'summary' | 'duplicates'>;

/** By this an issue or a task is found again whose creation nobody had an answer to. */
export function markerOf(submissionId: string): string {
  return `muster-feedback:${submissionId}`;
}

/** What an issue or a task says. The reporter's words name nobody, and no other submission. */
export function textOf(item: Facts, linkedTo: string | null): string {
  const facts = [
    ['Summary', item.summary && quieted(item.summary)],
    ['Severity', item.severity],
    ['Component', item.component && quieted(item.component)],
    ['Page', item.url?.replaceAll(markerWord, 'muster-feedback%3A')],
    ['Agent', item.agentId],
    ['Workflow', item.workflowId],
    ['Run', item.jobId],
    ['Perhaps the same as', item.duplicates.join(', ')],
  ].filter(([, value]) => value);
  return [
    quieted(item.description),
    ...(item.steps ? [`Steps:\n${quieted(item.steps)}`] : []),
    facts.map(([name, value]) => `${name}: ${value}`).join('\n'),
    ...(linkedTo ? [linkLine(linkedTo)] : []),
    markerOf(item.id),
  ].join('\n\n');
}

export function linkLine(url: string): string {
  return `Linked: ${url}`;
}

export function labelsOf({ type, severity }: Pick<Facts, 'type' | 'severity'>): string[] {
  return ['feedback', type, ...(severity ? [severity] : [])];
}

const markerWord = /muster-feedback:/gi;

/** A mention would call somebody, and a marker would be taken for ours: something that nobody sees breaks both. */
function quieted(text: string): string {
  return text.replaceAll(/@(?=\w)/g, '@\u200b').replaceAll(markerWord, 'muster-feedback\u200b:');
}
