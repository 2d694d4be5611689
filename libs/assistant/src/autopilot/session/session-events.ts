import { appendTimeline, type EntryLevel } from '@muster/timeline';
import type { Transaction } from '@muster/database';
import type { SessionRow } from './session-row';

export interface SessionEventFacts {
  type: 'session' | 'step' | 'attempt';
  /** As it is shown on the session's stream. */
  data: Record<string, unknown>;
  /** What the stream alone shows, by its names in `data`. */
  onStream?: Record<string, unknown>;
  /** As it is shown on the agent's timeline; nothing is where there is none. */
  message?: string;
  level?: EntryLevel;
  source?: string;
}

/** Appends to the session's own stream, and to its agent's timeline. Its holder has the session's lock. */
export function tellSession(
  tx: Transaction,
  { id, organizationId, agentId }: Pick<SessionRow, 'id' | 'organizationId' | 'agentId'>,
  { type, data, onStream = {}, message, level, source = 'dispatcher' }: SessionEventFacts,
): void {
  tx.defer(
    `WITH next AS (UPDATE autopilot_session SET last_event = last_event + 1 WHERE id = $1 RETURNING last_event)
     INSERT INTO autopilot_event (session_id, seq, organization_id, type, data)
     SELECT $1, next.last_event, $2, $3, $4 FROM next`,
    [id, organizationId, type, JSON.stringify({ ...data, ...onStream })],
    'autopilot_event',
  );
  tx.notify('autopilot', id);
  if (!message) return;
  const entry = { kind: 'execution' as const, level, source, message, data: { sessionId: id, type, ...data } };
  appendTimeline(tx, { organizationId, agentId }, [entry]);
}
