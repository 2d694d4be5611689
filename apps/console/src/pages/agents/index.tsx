import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ColumnDef } from '@tanstack/react-table';
import { Pin, Plus } from 'lucide-react';
import { lazy, Suspense, useMemo, useState } from 'react';
import { agentStatuses } from '@muster/contracts/words';
import { type Agent, type AgentList, agentsList } from '../../api/generated';
import { usePermission } from '../../api/session';
import { useList } from '../../api/use-list';
import { Time } from '../../format/time';
import { AgentMenu } from '../../parts/agent-menu';
import { AgentReason, AgentStatus } from '../../parts/agent-status';
import { AgentLink, RunLink } from '../../parts/names';
import { Button } from '../../ui/button';
import { EmptyNote, Page } from '../../ui/page';
import { TableCard } from '../../ui/table/card';
import { DataTable } from '../../ui/table/data-table';
import { FilterField } from '../../ui/table/filter-field';
import { FilterSelect } from '../../ui/table/filter-select';
import { ListSearchAndFilters } from '../../ui/table/list-tools';
import { useUrlState } from '../../ui/table/use-url-state';
import { AgentCost } from './agent-cost';
import { AgentName } from './agent-name';
import { AgentsByLabel } from './agents-by-label';
import { SelectedAgentsActions } from './several-agents';

// The module of this dialog is loaded when the dialog is opened, because most visits to the list do not need it.
const NewAgentDialog = lazy(async () => ({ default: (await import('./new-agent')).NewAgentDialog }));

const getAgents = (page: AgentList) => page.agents;

export function AgentsPage() {
  const [state, change] = useUrlState();
  const [isNew, setIsNew] = useState(false);
  const [renaming, setRenaming] = useState<string | null>(null);
  const [selected, setSelected] = useState<Record<string, boolean>>({});
  const client = useQueryClient();
  const mayAdminister = usePermission('agents.admin');
  const mayControl = usePermission('agents.control');
  const { status, label, q, sort, group } = state;
  const list = useList({
    queryKey: ['agents', { status, label, q, sort }],
    fetchPage: (page, signal) =>
      agentsList({ query: { ...page, ...toAgentFilter({ status, label, q, sort }) }, signal }),
    itemsOf: getAgents,
  });
  const columns = useMemo<ColumnDef<Agent>[]>(
    () => [
      {
        id: 'name',
        header: 'Name',
        meta: { className: 'sm:w-44 xl:w-52', sort: 'name' },
        cell: ({ row: { original: agent } }) =>
          renaming === agent.id ? (
            <AgentName agent={agent} done={() => setRenaming(null)} />
          ) : (
            <span className="flex items-center gap-1.5">
              <Link
                to="/agents/$id"
                params={{ id: agent.id }}
                className="truncate font-medium hover:underline"
                title={agent.name}
              >
                <bdi>{agent.name}</bdi>
              </Link>
              {agent.idleAutoStopExempt && <Pin aria-label="pinned" className="size-3.5 shrink-0 text-dim" />}
            </span>
          ),
      },
      {
        id: 'status',
        header: 'Status',
        meta: { className: 'w-30 sm:w-32', sort: 'status' },
        cell: ({ row: { original } }) => <AgentStatus agent={original} />,
      },
      {
        id: 'why',
        header: 'Why',
        meta: { className: 'max-md:hidden' },
        cell: ({ row: { original } }) => (
          <span data-testid="agent-why" title={original.why} className="text-dim">
            <AgentReason agent={original} />
          </span>
        ),
      },
      {
        id: 'stopAt',
        header: 'Stops',
        meta: { className: 'w-24 max-xl:hidden' },
        cell: ({ row: { original } }) => <Time at={original.stopAt} relative />,
      },
      {
        id: 'currentJobId',
        header: 'Current run',
        meta: { className: 'w-26 max-xl:hidden' },
        cell: ({ row: { original } }) =>
          original.currentJobId ? <RunLink id={original.currentJobId} /> : <span className="text-dim">–</span>,
      },
      {
        id: 'cost',
        header: () => <span title="Cost of the agent’s runs in the last 30 days">Cost</span>,
        meta: { className: 'w-20 max-xl:hidden' },
        cell: ({ row: { original } }) => <AgentCost id={original.id} />,
      },
      {
        id: 'lastSeen',
        header: 'Last seen',
        meta: { className: 'w-28 max-sm:hidden', sort: 'lastSeen' },
        cell: ({ row: { original } }) => <Time at={original.lastSeen} relative />,
      },
      {
        id: 'actions',
        header: () => <span className="sr-only">Actions</span>,
        meta: { className: 'text-clip! w-14 text-right' },
        cell: ({ row: { original } }) => <AgentMenu agent={original} rename={() => setRenaming(original.id)} />,
      },
    ],
    [renaming],
  );
  const picked = list.items.filter(({ id }) => selected[id]);
  const isFiltered = Boolean(status || label || q);
  return (
    <Page
      title="Agents"
      full
      actions={
        mayAdminister && (
          <Button look="primary" onClick={() => setIsNew(true)}>
            <Plus aria-hidden className="size-4" />
            New agent
          </Button>
        )
      }
    >
      <ListSearchAndFilters
        search="Search agents"
        filters={[{ name: 'status', label: 'Status', options: agentStatuses }]}
      >
        <FilterField name="label" label="Label" />
        <FilterSelect
          label="Group"
          value={group ?? ''}
          options={[{ value: 'label', label: 'by label' }]}
          all="not grouped"
          change={(value) => change({ group: value })}
        />
        <SelectedAgentsActions agents={picked} done={() => setSelected({})} />
      </ListSearchAndFilters>
      {group === 'label' ? (
        <AgentsByLabel filter={toAgentFilter({ status, label, q, sort })} />
      ) : (
        <DataTable
          label="Agents"
          list={list}
          columns={columns}
          card={renaming ? undefined : AgentCard}
          rowId={({ id }) => id}
          selection={mayControl ? { selected, change: setSelected } : undefined}
          empty={
            isFiltered ? (
              <EmptyNote title="No agents match the filters.">Remove a filter, or change the search.</EmptyNote>
            ) : (
              <EmptyNote title="No agents yet.">
                An agent is a machine that runs workflows. “New agent” creates one and shows how to install its worker.
              </EmptyNote>
            )
          }
        />
      )}
      <Suspense>
        {isNew && (
          <NewAgentDialog
            open
            onOpenChange={setIsNew}
            made={() => void client.invalidateQueries({ queryKey: ['agents'] })}
          />
        )}
      </Suspense>
    </Page>
  );
}

function AgentCard(agent: Agent) {
  return (
    <TableCard
      title={<AgentLink id={agent.id} name={agent.name} />}
      aside={<AgentStatus agent={agent} />}
      facts={[
        <AgentReason key="why" agent={agent} />,
        agent.currentJobId && <RunLink key="run" id={agent.currentJobId} />,
        agent.stopAt && (
          <span key="stops">
            stops <Time at={agent.stopAt} relative />
          </span>
        ),
        <AgentCost key="cost" id={agent.id} />,
        agent.lastSeen && (
          <span key="seen">
            last seen <Time at={agent.lastSeen} relative />
          </span>
        ),
      ]}
    />
  );
}

function toAgentFilter(state: { status?: string; label?: string; q?: string; sort?: string }) {
  return state as { status?: Agent['status']; label?: string; q?: string; sort?: 'name' };
}
