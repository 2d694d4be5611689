import { useEffect, useRef } from 'react';
import type {
  AgentJobEvent,
  AgentLifecycleEvent,
  AgentLogEvent,
  AgentResyncEvent,
  AgentStatusEvent,
} from '../api/generated';
import { useCurrentUser } from '../api/session';
import { readStream } from './shared-stream';

export type AgentEvent =
  | AgentLifecycleEvent
  | AgentStatusEvent
  | AgentLogEvent
  | AgentJobEvent
  | AgentResyncEvent
  /** Called when the stream is connected, for the first time or again. */
  | { type: 'open' };

const events = ['lifecycle', 'status', 'log', 'job', 'resync'] as const;

/** Calls `onEvent` for each event of an agent. Events only trigger reads; pages show the API's responses. */
export function useAgentEvents(agentId: string | undefined, onEvent: (event: AgentEvent) => void): void {
  const { user, organization } = useCurrentUser();
  const latest = useRef(onEvent);
  useEffect(() => {
    latest.current = onEvent;
  });
  const scope = `${organization.id} ${user.id}`;
  // The stream contains log lines of runs.
  const isVisible = user.permissions.includes('runs.read');
  useEffect(() => {
    if (!agentId || !isVisible) return;
    return readStream(
      { scope, url: `/api/agents/${agentId}/events`, events },
      {
        event: ({ data }) => latest.current(data as AgentEvent),
        open: () => latest.current({ type: 'open' }),
      },
    );
  }, [agentId, scope, isVisible]);
}
