import { appendTimeline, type TimelineEntry } from '@muster/timeline';
import type { Database } from '@muster/database';
import type { Harness } from './app-harness';
import { EventStream } from './event-stream';
import { makeApiKey } from './factories';

interface AgentRef {
  organizationId: string;
  agentId: string;
}

/** Opens an agent's event stream with an API key. */
export async function followAgent(
  { db, url }: Harness,
  { organizationId, agentId }: AgentRef,
  lastEventId?: number | string,
): Promise<EventStream> {
  const { secret } = await makeApiKey(db, { organizationId });
  return EventStream.open(`${url}/api/agents/${agentId}/events`, {
    'x-api-key': secret,
    ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
  });
}

/** Writes entries to an agent's timeline, in one transaction. */
export function appendEntries(db: Database, agentRef: AgentRef, ...entries: TimelineEntry[]): Promise<void> {
  return db.transaction({ organizationId: agentRef.organizationId }, async (tx) =>
    appendTimeline(tx, agentRef, entries),
  );
}

export function makeLogLine(message: string, jobId?: string): TimelineEntry {
  return { kind: 'execution', message, ...(jobId ? { jobId } : {}) };
}
