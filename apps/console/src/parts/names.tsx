import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { agentQuery, workflowQuery } from '../api/queries';

const linkClass = 'text-accent hover:underline';

/** An agent by its name: the one that is given, else it is looked up once for all the rows that show it. */
export function AgentLink({ id, name }: { id: string; name?: string }) {
  const enabled = name === undefined;
  const { data = { name } } = useQuery({ ...agentQuery(id), staleTime: 60_000, refetchInterval: false, enabled });
  return (
    <Link to="/agents/$id" params={{ id }} className={linkClass} title={data.name}>
      <bdi>{data.name ?? shortId(id)}</bdi>
    </Link>
  );
}

export function WorkflowLink({ id, name }: { id: string; name?: string }) {
  const { data = { name } } = useQuery({ ...workflowQuery(id), enabled: name === undefined });
  return (
    <Link to="/workflows/$id" params={{ id }} className={linkClass} title={data.name}>
      <bdi>{data.name ?? shortId(id)}</bdi>
    </Link>
  );
}

export function RunLink({ id, children }: { id: string; children?: React.ReactNode }) {
  return (
    <Link to="/runs/$id" params={{ id }} className={`${linkClass} font-mono text-xs`} title={id}>
      {children ?? shortId(id)}
    </Link>
  );
}

/** Ids begin with the time at which they were made; the end tells them apart. */
export function shortId(id: string): string {
  return id.slice(-8);
}
