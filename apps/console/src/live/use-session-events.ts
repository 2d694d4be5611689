import { useEffect, useRef } from 'react';
import { useMe } from '../api/session';
import { readStream } from './shared-stream';

const events = ['session', 'step', 'attempt'] as const;

/** Calls `onEvent` for each event of an autopilot session, so that the caller reads the session again. */
export function useSessionEvents(
  session: { agentId: string; sessionId: string } | undefined,
  onEvent: () => void,
): void {
  const { user, organization } = useMe();
  const latest = useRef(onEvent);
  useEffect(() => {
    latest.current = onEvent;
  });
  const scope = `${organization.id} ${user.id}`;
  const url = session && `/api/agents/${session.agentId}/autopilot/events?sessionId=${session.sessionId}`;
  useEffect(() => {
    if (!url) return;
    const look = () => latest.current();
    return readStream({ scope, url, events }, { event: look, open: look });
  }, [url, scope]);
}
