import type { TrackerName } from '@muster/contracts';

/** A tracker webhook. Only references are read from it; the sync reads the state from the tracker. */
export interface Delivery {
  tracker: TrackerName;
  deliveryId: string;
  /** Whether `deliveryId` is a hash of the content. A repetition then counts as a duplicate for 10 minutes only. */
  byContent: boolean;
  references: Reference[];
}

export type Reference =
  | { scope: string | null; externalId: string }
  | { scope: string; branch: string }
  | { scope: string; submissionId: string };

const issueActions = ['opened', 'edited', 'closed', 'reopened', 'assigned', 'labeled', 'deleted'];
const pullActions = ['opened', 'closed', 'reopened'];
const taskEvents = ['taskCreated', 'taskUpdated', 'taskStatusUpdated', 'taskDeleted', 'taskCommentPosted'];
const maxReferences = 20;
const markers = /muster-feedback:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/g;

interface CodehostPayload {
  action?: unknown;
  repository?: { full_name?: unknown } | null;
  issue?: { number?: unknown } | null;
  pull_request?: { title?: unknown; body?: unknown; head?: { ref?: unknown } | null } | null;
}

/** Reads the references of a GitHub event; null if the event is not supported. */
export function readCodehostReferences(event: string | undefined, payload: unknown): Reference[] | null {
  const { action, repository, issue, pull_request: pull = {} } = (payload ?? {}) as CodehostPayload;
  const supported = event === 'issues' ? issueActions : event === 'pull_request' ? pullActions : [];
  if (typeof action !== 'string' || !supported.includes(action)) return null;
  const scope = typeof repository?.full_name === 'string' ? repository.full_name : '';
  if (event === 'issues') return toReferenceList(scope, issue?.number);
  const branch = pull?.head?.ref;
  const text = [pull?.title, pull?.body]
    .filter((each) => typeof each === 'string')
    .join('\n')
    .slice(0, 100_000);
  const numbers = new Set([...text.matchAll(/(?:#|\/issues\/)(\d{1,12})\b/g)].map(([, number]) => Number(number)));
  const marked = new Set([...text.matchAll(markers)].map(([, id]) => id!));
  return [
    ...[...marked].slice(0, maxReferences).map((submissionId) => ({ scope, submissionId })),
    ...(typeof branch === 'string' && branch.length <= 250 ? [{ scope, branch }] : []),
    ...[...numbers].slice(0, maxReferences).flatMap((number) => toReferenceList(scope, number)),
  ];
}

/** Returns the references to the task that a ClickUp event is about; null if the event is not supported. */
export function readTasktrackerReferences(payload: unknown): Reference[] | null {
  const { event, task_id: taskId } = (payload ?? {}) as { event?: unknown; task_id?: unknown };
  if (typeof event !== 'string' || !taskEvents.includes(event)) return null;
  return typeof taskId === 'string' && taskId.length <= 200 ? [{ scope: null, externalId: taskId }] : [];
}

function toReferenceList(scope: string, number: unknown): Reference[] {
  return Number.isSafeInteger(number) ? [{ scope, externalId: String(number) }] : [];
}
