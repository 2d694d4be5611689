import type { ColumnDef } from '@tanstack/react-table';
import { useMemo, useState } from 'react';
import { jobStatuses } from '@muster/contracts/words';
import { type Job, type JobList, jobsList, type JobsListData } from '../../api/generated';
import { useMay } from '../../api/session';
import { useList } from '../../api/use-list';
import { formatMoney } from '../../format/format';
import { Duration, Time } from '../../format/time';
import { AgentLink, RunLink, WorkflowLink } from '../../parts/names';
import { RunMenu } from '../../parts/run-menu';
import { RunStatus } from '../../parts/run-status';
import { Button, buttonClass } from '../../ui/button';
import { Empty, Page } from '../../ui/page';
import { DataTable } from '../../ui/table/data-table';
import { ListTools } from '../../ui/table/list-tools';
import { useUrlState } from '../../ui/table/use-url-state';
import { SeveralRuns } from './several-runs';

const itemsOf = (page: JobList) => page.jobs;
const filterNames = ['status', 'agentId', 'workflowId', 'scheduleId', 'batchId', 'from', 'to', 'q', 'sort'] as const;
const withControls: readonly string[] = ['status', 'q', 'sort'];

export function RunsPage() {
  const [state, change] = useUrlState();
  const [selected, setSelected] = useState<Record<string, boolean>>({});
  const isMember = useMay('member');
  const filter = Object.fromEntries(filterNames.map((name) => [name, state[name]])) as JobsListData['query'];
  const list = useList({
    queryKey: ['runs', filter],
    fetchPage: (page, signal) => jobsList({ query: { ...page, ...filter }, signal }),
    itemsOf,
  });
  const narrowed = filterNames.filter((name) => !withControls.includes(name) && state[name]);
  const picked = list.items.filter(({ id }) => selected[id]);
  return (
    <Page
      title="Runs"
      full
      actions={
        <a
          href={`/api/jobs/export?${new URLSearchParams(given(filter)).toString()}`}
          download
          className={buttonClass()}
        >
          Export CSV
        </a>
      }
    >
      <ListTools search="Search runs" filters={[{ name: 'status', label: 'Status', options: jobStatuses }]}>
        {narrowed.length > 0 && (
          <Button onClick={() => change(Object.fromEntries(narrowed.map((name) => [name, undefined])))}>
            Show all ({narrowed.join(', ')} is set)
          </Button>
        )}
        <SeveralRuns runs={picked} done={() => setSelected({})} />
      </ListTools>
      <DataTable
        label="Runs"
        list={list}
        columns={useColumns()}
        defaultSort="-queuedAt"
        rowId={({ id }) => id}
        selection={isMember ? { selected, change: setSelected } : undefined}
        empty={
          <Empty
            title={
              state['status'] || state['q'] || narrowed.length > 0 ? 'No run is like that.' : 'Nothing has run yet.'
            }
          >
            A run begins with “Run” on a workflow, or with a schedule.
          </Empty>
        }
      />
    </Page>
  );
}

/** What of it is set. */
function given(filter: object = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value)) as Record<string, string>;
}

function useColumns(): ColumnDef<Job>[] {
  return useMemo(
    () => [
      {
        id: 'status',
        header: 'Status',
        meta: { className: 'w-30 sm:w-33' },
        cell: ({ row: { original } }) => <RunStatus run={original} />,
      },
      {
        id: 'run',
        header: 'Run',
        meta: { className: 'w-20 sm:w-24' },
        cell: ({ row: { original } }) => <RunLink id={original.id} />,
      },
      {
        id: 'workflow',
        header: 'Workflow',
        cell: ({ row: { original } }) => <WorkflowLink id={original.workflowId} name={original.workflowName} />,
      },
      {
        id: 'agent',
        header: 'Agent',
        meta: { className: 'max-md:hidden' },
        cell: ({ row: { original } }) => <AgentLink id={original.agentId} name={original.agentName} />,
      },
      {
        id: 'queuedAt',
        header: 'Queued',
        meta: { className: 'w-28 max-sm:hidden', sort: 'queuedAt' },
        cell: ({ row: { original } }) => <Time at={original.queuedAt} relative />,
      },
      {
        id: 'duration',
        header: 'Took',
        meta: { className: 'w-28 max-lg:hidden', sort: 'durationMs' },
        cell: ({ row: { original } }) => (
          <Duration from={original.startedAt} to={original.finishedAt} ms={original.durationMs} />
        ),
      },
      {
        id: 'claims',
        header: 'Claims',
        meta: { className: 'w-24 max-xl:hidden' },
        cell: ({ row: { original } }) => `${original.claims.eobUploaded}/${original.claims.attempted}`,
      },
      {
        id: 'cost',
        header: 'Cost',
        meta: { className: 'w-24 max-lg:hidden', sort: 'totalCostUsd' },
        cell: ({ row: { original } }) => (original.totalCostUsd === null ? '–' : formatMoney(original.totalCostUsd)),
      },
      {
        id: 'actions',
        header: () => <span className="sr-only">Actions</span>,
        meta: { className: 'w-11 px-0 text-right sm:w-14' },
        cell: ({ row: { original } }) => <RunMenu run={original} />,
      },
    ],
    [],
  );
}
