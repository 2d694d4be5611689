import { useQuery } from '@tanstack/react-query';
import { type Agent, agentsList, type AgentsListData } from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { readAllItems } from '../../api/read-all-items';
import { formatCountWithNoun, formatCount } from '../../format/format';
import { AgentMenu } from '../../parts/agent-menu';
import { AgentReason, AgentStatus } from '../../parts/agent-status';
import { AgentLink, RunLink } from '../../parts/names';
import { ErrorNote } from '../../ui/error-note';
import { EmptyNote, Skeleton } from '../../ui/page';
import { groupByLabel } from './group-by-label';

/** Number of agents up to which all groups are open at first. */
const mostOpen = 100;

/** The agents in one group for each label. An agent is in the group of each of its labels. */
export function AgentsByLabel({ filter }: { filter: AgentsListData['query'] }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['agents', 'by label', filter],
    queryFn: ({ signal }) =>
      readAllItems(async (page) => {
        const { agents, nextCursor } = await agentsList({ query: { ...filter, ...page }, signal });
        return { items: agents, nextCursor };
      }),
    refetchInterval: pollMs,
  });
  if (!data) return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={8} />;
  if (data.items.length === 0) return <EmptyNote title="No agents.">Remove a filter, or change the search.</EmptyNote>;
  return (
    <div className="flex min-h-0 flex-col gap-3 overflow-auto" tabIndex={0} role="region" aria-label="Agents by label">
      {data.isMore && (
        <p role="status" className="rounded-control bg-warn-soft p-2.5">
          Only the first {formatCount(data.items.length)} agents are grouped. Filter or search for fewer.
        </p>
      )}
      {groupByLabel(data.items).map(({ label, agents }) => (
        <LabelGroup key={label ?? ''} label={label} agents={agents} isOpen={data.items.length <= mostOpen} />
      ))}
    </div>
  );
}

function LabelGroup({ label, agents, isOpen }: { label: string | null; agents: Agent[]; isOpen: boolean }) {
  const online = agents.filter(({ status }) => status === 'online').length;
  const idle = agents.filter(({ status, currentJobId }) => status === 'online' && currentJobId === null).length;
  const title = label ?? 'Without a label';
  return (
    <details open={isOpen} data-testid="label-group" className="shrink-0 rounded-panel border border-line bg-surface">
      <summary className="px-3.5 py-2">
        <h2 className="inline font-medium [overflow-wrap:anywhere]">
          <bdi>{title}</bdi>
        </h2>{' '}
        <span className="text-dim">
          {formatCountWithNoun(agents.length, 'agent')}, {formatCount(online)} online, {formatCount(idle)} without a run
        </span>
      </summary>
      <ul aria-label={`Agents of ${title}`}>
        {agents.map((agent) => (
          <li key={agent.id} className="flex items-center gap-3 border-t border-line px-3.5 py-1.5">
            <div className="grid min-w-0 grow gap-x-3 sm:grid-cols-[12rem_8rem_minmax(0,1fr)] sm:items-center">
              <span className="truncate font-medium">
                <AgentLink id={agent.id} name={agent.name} />
              </span>
              <AgentStatus agent={agent} />
              <span className="truncate text-dim" title={agent.why}>
                {agent.currentJobId && (
                  <>
                    <RunLink id={agent.currentJobId} />{' '}
                  </>
                )}
                {!agent.placement && 'Accepts only runs launched for it by name. '}
                <AgentReason agent={agent} />
              </span>
            </div>
            <AgentMenu agent={agent} />
          </li>
        ))}
      </ul>
    </details>
  );
}
