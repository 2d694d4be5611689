import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Fragment } from 'react';
import type { Job } from '../api/generated';
import { buildAgentQuery, buildWorkflowQuery } from '../api/queries';

const linkClass = 'text-accent hover:underline';

/** A link to an agent with its name. Without `name` the agent is read, once for all rows that show it. */
export function AgentLink({ id, name }: { id: string; name?: string }) {
  const enabled = name === undefined;
  const { data = { name } } = useQuery({ ...buildAgentQuery(id), staleTime: 60_000, refetchInterval: false, enabled });
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
  const { data = { name } } = useQuery({ ...buildWorkflowQuery(id), enabled: name === undefined });
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

/** The end of an id. Ids start with their time of creation, so only their ends differ clearly. */
export function shortenId(id: string): string {
  return id.slice(-8);
}
