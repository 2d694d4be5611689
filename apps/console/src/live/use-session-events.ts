import { useEffect, useRef } from 'react';
import { useMe } from '../api/session';
import { readStream } from './shared-stream';

const events = ['session', 'step', 'attempt'] as const;

/** Follows one autopilot session. Use events only as a trigger to read it again. */
export function useSessionEvents(of: { agentId: string; sessionId: string } | undefined, heard: () => void): void {
  const { user, organization } = useMe();
  const latest = useRef(heard);
  useEffect(() => {
    latest.current = heard;
  });
  const scope = `${organization.id} ${user.id}`;
  const url = of && `/api/agents/${of.agentId}/autopilot/events?sessionId=${of.sessionId}`;
  useEffect(() => {
    if (!url) return;
    const look = () => latest.current();
    return readStream({ scope, url, events }, { event: look, open: look });
  }, [url, scope]);
}
