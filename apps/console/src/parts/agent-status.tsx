import { Link } from '@tanstack/react-router';
import type { Agent } from '../api/generated';
import { Time } from '../format/time';
import { StatusMark } from '../ui/status-mark';

/** Whether no worker of this agent has ever reported. Such an agent waits for its first worker; it is not broken. */
export function isNeverConnected({ status, lastSeen }: Pick<Agent, 'status' | 'lastSeen'>): boolean {
  return status === 'offline' && lastSeen === null;
}

/** An agent's status. An agent that never connected looks pending, not failed. */
export function AgentStatus({ agent, large }: { agent: Agent; large?: boolean }) {
  const look = isNeverConnected(agent) ? 'pending' : agent.status;
  return <StatusMark status={agent.status} look={look} testId="agent-status" large={large} />;
}

/** Reason for the agent's status, and its time; for an agent that never connected, a link to the installation. */
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
