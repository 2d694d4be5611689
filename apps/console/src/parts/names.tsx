import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import type { Job } from '../api/generated';
import { usePermission } from '../api/session';
import { buildAgentQuery, buildWorkflowQuery } from '../api/queries';

const linkClass = 'text-accent hover:underline';

/**
 * A link to an agent with its name. Without `name` the agent is read, once for all rows that show it. A user who may not
 * see agents gets the end of the id instead of a link.
 */
export function AgentLink({ id, name }: { id: string; name?: string }) {
  const isVisible = usePermission('agents.read');
  const enabled = name === undefined && isVisible;
  const { data = { name } } = useQuery({ ...buildAgentQuery(id), staleTime: 60_000, refetchInterval: false, enabled });
  if (!isVisible) return <bdi>{name ?? shortenId(id)}</bdi>;
  return (
    <Link to="/agents/$id" params={{ id }} className={linkClass} title={data.name}>
      <bdi>{data.name ?? shortenId(id)}</bdi>
    </Link>
  );
}

/** A link to the agent of a run or a schedule, or the labels that it requires if it has no agent. */
export function AgentOfRun({
  run: { agentId, agentName, target },
}: {
  run: Pick<Job, 'agentId' | 'target'> & Partial<Pick<Job, 'agentName'>>;
}) {
  if (agentId) return <AgentLink id={agentId} name={agentName ?? undefined} />;
  return (
    <bdi title="Any agent with these labels" className="text-dim">
      any with {target?.labels.join(', ')}
    </bdi>
  );
}

/** Labels, each with a link to the agents that have it. */
export function LabelLinks({ labels }: { labels: readonly string[] }) {
  return labels.map((label, at) => (
    <Fragment key={label}>
      {at > 0 && ', '}
      <Link to="/agents" search={{ label }} className={linkClass}>
        <bdi>{label}</bdi>
      </Link>
    </Fragment>
  ));
}

export function WorkflowLink({ id, name }: { id: string; name?: string }) {
  const isVisible = usePermission('workflows.read');
  const { data = { name } } = useQuery({ ...buildWorkflowQuery(id), enabled: name === undefined && isVisible });
  if (!isVisible) return <bdi>{name ?? shortenId(id)}</bdi>;
  return (
    <Link to="/workflows/$id" params={{ id }} className={linkClass} title={data.name}>
      <bdi>{data.name ?? shortenId(id)}</bdi>
    </Link>
  );
}

export function RunLink({ id, children }: { id: string; children?: React.ReactNode }) {
  return (
    <Link to="/runs/$id" params={{ id }} className={`${linkClass} font-mono text-xs`} title={id}>
      {children ?? shortenId(id)}
    </Link>
  );
}

export function SessionLink({ id }: { id: string }) {
  return (
    <Link to="/autopilot/$id" params={{ id }} className={linkClass} title={id}>
      Autopilot session <span className="font-mono text-xs">{shortenId(id)}</span>
    </Link>
  );
}

/** The end of an id. Ids start with their time of creation, so only their ends differ clearly. */
export function shortenId(id: string): string {
  return id.slice(-8);
}

/** A link to the audit entries of one resource, for users who may read them; to others it shows the time alone. */
export function ChangesLink({ id, children }: { id: string; children: ReactNode }) {
  const mayReadAudit = usePermission('audit.read');
  if (!mayReadAudit) return children;
  return (
    <>
      {children}{' '}
      <Link to="/settings" search={{ part: 'Audit', targetId: id }} className="whitespace-nowrap text-accent underline">
        Who changed it
      </Link>
    </>
  );
}
