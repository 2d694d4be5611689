import { Link } from '@tanstack/react-router';
import type { Agent } from '../api/generated';
import { Time } from '../format/time';
import { StatusMark } from '../ui/status-mark';

/** It was made, and no worker of it ever reported: it waits for one, and nothing is broken. */
export function isNeverConnected({ status, lastSeen }: Pick<Agent, 'status' | 'lastSeen'>): boolean {
  return status === 'offline' && lastSeen === null;
}

/** An agent's status; one that never connected does not look like one that broke. */
export function AgentStatus({ agent, large }: { agent: Agent; large?: boolean }) {
  const look = isNeverConnected(agent) ? 'pending' : agent.status;
  return <StatusMark status={agent.status} look={look} testId="agent-status" large={large} />;
}

/** Why it is so, in a few words, and since when; one that never connected leads to how its worker is installed. */
export function AgentReason({ agent }: { agent: Agent }) {
  if (isNeverConnected(agent)) {
    return (
      <>
        {agent.reason},{' '}
        <Link
          to="/agents/$id"
          params={{ id: agent.id }}
          search={{ tab: 'settings' }}
          className="text-accent hover:underline"
        >
          install its worker
        </Link>
      </>
    );
  }
  return (
    <>
      {agent.reason && `${agent.reason}, `}since <Time at={agent.statusSince} short />
    </>
  );
}
