import { appendTimeline, type EntryLevel } from '@muster/timeline';
import type { Transaction } from '@muster/database';
import type { SessionRow } from './session-row';

export interface SessionEventFacts {
  type: 'session' | 'step' | 'attempt';
  /** Data of the event on the session's stream, and of the entry on the agent's timeline. */
  data: Record<string, unknown>;
  /** Fields that only the stream gets; they replace fields of `data` with the same name. */
  onStream?: Record<string, unknown>;
  /** Message of the entry on the agent's timeline; without it there is no entry. */
  message?: string;
  level?: EntryLevel;
  source?: string;
}

/** Appends an event to the session's stream and to its agent's timeline. The caller holds the session's lock. */
export function appendSessionEvent(
  tx: Transaction,
  { id, organizationId, agentId }: Pick<SessionRow, 'id' | 'organizationId' | 'agentId'>,
  { type, data, onStream = {}, message, level, source = 'dispatcher' }: SessionEventFacts,
): void {
  tx.deferStatement(
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
