import type { ColumnDef } from '@tanstack/react-table';
import { lazy, Suspense, useState } from 'react';
import { type Job, type JobList, jobsList, type JobsListData } from '../../api/generated';
import { usePermission } from '../../api/session';
import { useList } from '../../api/use-list';
import { formatCount, formatMoney } from '../../format/format';
import { Duration, Time } from '../../format/time';
import { AgentOfRun } from '../../parts/names';
import { RunMenu } from '../../parts/run/run-menu';
import { RunStatus } from '../../parts/run/run-status';
import { RunCause, RunTitle } from '../../parts/run/run-title';
import { Button, getButtonClass } from '../../ui/button';
import { EmptyNote, Page } from '../../ui/page';
import { TableCard } from '../../ui/table/card';
import { DataTable } from '../../ui/table/data-table';
import { useUrlState } from '../../ui/table/use-url-state';
import { RunFilters } from './filters';
import { SelectedRunsActions } from './several-runs';

// The module of this dialog is loaded when the dialog is opened, because most visits to the list do not need it.
const RunAnyDialog = lazy(async () => ({ default: (await import('../../parts/run/run-dialog')).RunAnyDialog }));

const getRuns = (page: JobList) => page.jobs;
const filterNames = [
  ...(['status', 'agentId', 'workflowId', 'scheduleId', 'batchId', 'from', 'to'] as const),
  ...(['endedFrom', 'endedTo', 'q', 'error', 'variable', 'target', 'cause', 'sort'] as const),
] as const;

export function RunsPage() {
  const [state] = useUrlState();
  const [isLaunching, setIsLaunching] = useState(false);
  const [selected, setSelected] = useState<Record<string, boolean>>({});
  const mayChange = usePermission('runs.write');
  const filter = Object.fromEntries(filterNames.map((name) => [name, state[name]])) as JobsListData['query'];
  const list = useList({
    queryKey: ['runs', filter],
    fetchPage: (page, signal) => jobsList({ query: { ...page, ...filter }, signal }),
    itemsOf: getRuns,
  });
  const isNarrowed = filterNames.some((name) => name !== 'sort' && state[name]);
  const picked = list.items.filter(({ id }) => selected[id]);
  return (
    <Page
      title="Runs"
      full
      actions={
        <>
          <a
            href={`/api/jobs/export?${new URLSearchParams(pickActiveFilters(filter)).toString()}`}
            download
            className={getButtonClass()}
          >
            Export CSV
          </a>
          {mayChange && (
            <Button look="primary" onClick={() => setIsLaunching(true)}>
              Run
            </Button>
          )}
        </>
      }
    >
      <RunFilters>
        <SelectedRunsActions runs={picked} done={() => setSelected({})} />
      </RunFilters>
      <DataTable
        label="Runs"
        list={list}
        columns={columns}
        card={RunCard}
        defaultSort="-queuedAt"
        rowId={({ id }) => id}
        selection={mayChange ? { selected, change: setSelected } : undefined}
        empty={
          <EmptyNote title={isNarrowed ? 'No matching runs.' : 'No runs yet.'}>
            Start a run with “Run” on a workflow, or with a schedule.
          </EmptyNote>
        }
      />
      <Suspense>{isLaunching && <RunAnyDialog open onOpenChange={setIsLaunching} />}</Suspense>
    </Page>
  );
}

function RunCard(run: Job) {
  return (
    <TableCard
      title={<RunTitle run={run} />}
      aside={<RunStatus run={run} />}
      facts={[
        run.status === 'failed' && <RunCause run={run} inline />,
        <AgentOfRun run={run} />,
        <Time at={run.queuedAt} relative />,
        run.startedAt && <Duration from={run.startedAt} to={run.finishedAt} ms={run.durationMs} />,
        run.totalCostUsd !== null && formatMoney(run.totalCostUsd),
        run.claims.attempted > 0 &&
          `${formatCount(run.claims.eobUploaded)}/${formatCount(run.claims.attempted)} claims`,
      ]}
    />
  );
}

/** Returns the filters that have a value. */
function pickActiveFilters(filter: object = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value)) as Record<string, string>;
}

const columns: ColumnDef<Job>[] = [
  {
    id: 'status',
    header: 'Status',
    meta: { className: 'w-30 sm:w-33' },
    cell: ({ row: { original } }) => <RunStatus run={original} />,
  },
  {
    id: 'run',
    header: 'Run',
    cell: ({ row: { original } }) => (
      <>
        <RunTitle run={original} />
        <RunCause run={original} />
      </>
    ),
  },
  {
    id: 'agent',
    header: 'Agent',
    meta: { className: 'w-48 max-md:hidden' },
    cell: ({ row: { original } }) => <AgentOfRun run={original} />,
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
    cell: ({ row: { original } }) =>
      original.claims.attempted > 0 ? `${original.claims.eobUploaded}/${original.claims.attempted}` : '–',
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
    meta: { className: 'text-clip! w-11 px-0 text-right sm:w-14' },
    cell: ({ row: { original } }) => <RunMenu run={original} />,
  },
];
