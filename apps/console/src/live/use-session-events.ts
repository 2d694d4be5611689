import { useEffect, useRef } from 'react';
import { useCurrentUser } from '../api/session';
import { readStream } from './shared-stream';

const events = ['session', 'step', 'attempt'] as const;

/** Calls `onEvent` for each event of an autopilot session, so that the caller reads the session again. */
export function useSessionEvents(
  session: { agentId: string; sessionId: string } | undefined,
  onEvent: () => void,
): void {
  const { user, organization } = useCurrentUser();
  const latest = useRef(onEvent);
  useEffect(() => {
    latest.current = onEvent;
  });
  const scope = `${organization.id} ${user.id}`;
  const url = session && `/api/agents/${session.agentId}/autopilot/events?sessionId=${session.sessionId}`;
  useEffect(() => {
    if (!url) return;
    const callLatest = () => latest.current();
    return readStream({ scope, url, events }, { event: callLatest, open: callLatest });
  }, [url, scope]);
}
