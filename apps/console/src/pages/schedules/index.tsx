import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ColumnDef } from '@tanstack/react-table';
import { lazy, Suspense, useMemo, useState } from 'react';
import { type Schedule, type ScheduleList, schedulesList, type SchedulesListData } from '../../api/generated';
import { usePermission } from '../../api/session';
import { useList } from '../../api/use-list';
import { describeCron } from '../../format/describe-cron';
import { Time } from '../../format/time';
import { AgentOfRun, RunLink, WorkflowLink } from '../../parts/names';
import { PlannedRunsOfWeek } from '../../parts/schedule/week';
import { ScheduleMenu } from '../../parts/schedule-menu';
import { Button } from '../../ui/button';
import { EmptyNote, Page } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { TableCard } from '../../ui/table/card';
import { DataTable } from '../../ui/table/data-table';
import { ListSearchAndFilters } from '../../ui/table/list-tools';
import { useUrlState } from '../../ui/table/use-url-state';

// The module of this dialog is loaded when the dialog is opened, because most visits to the list do not need it.
const NewScheduleDialog = lazy(async () => ({ default: (await import('./new-schedule')).NewScheduleDialog }));

const getSchedules = (page: ScheduleList) => page.schedules;
const states = [
  { value: 'true', label: 'enabled' },
  { value: 'false', label: 'disabled' },
];

export function SchedulesPage() {
  const [{ agentId, scriptId, enabled, view, q, sort }, change] = useUrlState();
  const [isNew, setIsNew] = useState(false);
  const mayChange = usePermission('schedules.write');
  const client = useQueryClient();
  const filled = Object.entries({ agentId, scriptId, enabled, q, sort }).filter(([, value]) => value);
  const filter = Object.fromEntries(filled) as SchedulesListData['query'];
  const list = useList({
    queryKey: ['schedules', filter],
    fetchPage: (page, signal) => schedulesList({ query: { ...page, ...filter }, signal }),
    itemsOf: getSchedules,
  });
  const columns = useMemo<ColumnDef<Schedule>[]>(
    () => [
      {
        id: 'name',
        header: 'Name',
        meta: { sort: 'name' },
        cell: ({ row: { original } }) => (
          <Link
            to="/schedules/$id"
            params={{ id: original.id }}
            className="font-medium hover:underline"
            title={original.name}
          >
            <bdi>{original.name}</bdi>
          </Link>
        ),
      },
      {
        id: 'status',
        header: 'Status',
        meta: { className: 'w-28' },
        cell: ({ row: { original } }) => <StatusMark status={original.enabled ? 'enabled' : 'disabled'} />,
      },
      {
        id: 'cron',
        header: 'When',
        meta: { className: 'max-md:hidden' },
        cell: ({ row: { original } }) => <ScheduleTimes schedule={original} />,
      },
      {
        id: 'workflow',
        header: 'Workflow',
        meta: { className: 'w-40 max-lg:hidden' },
        cell: ({ row: { original } }) => <WorkflowLink id={original.scriptId} />,
      },
      {
        id: 'agent',
        header: 'Agent',
        meta: { className: 'w-44 max-lg:hidden' },
        cell: ({ row: { original } }) => <AgentOfRun run={original} />,
      },
      {
        id: 'nextRunAt',
        header: 'Next',
        meta: { className: 'w-26 max-sm:hidden', sort: 'nextRunAt' },
        cell: ({ row: { original } }) => <Time at={original.nextRunAt} relative />,
      },
      {
        id: 'last',
        header: 'Last',
        meta: { className: 'w-44 max-xl:hidden' },
        cell: ({ row: { original } }) =>
          original.lastResult && (
            <span className="flex items-center gap-2">
              <StatusMark status={original.lastResult} />
              {original.lastRunJobId && <RunLink id={original.lastRunJobId} />}
            </span>
          ),
      },
      {
        id: 'actions',
        header: () => <span className="sr-only">Actions</span>,
        meta: { className: 'text-clip! w-14 text-right' },
        cell: ({ row: { original } }) => <ScheduleMenu schedule={original} />,
      },
    ],
    [],
  );
  return (
    <Page
      title="Schedules"
      full
      actions={
        <>
          <Button aria-pressed={view === 'week'} onClick={() => change({ view: view === 'week' ? undefined : 'week' })}>
            Week
          </Button>
          {mayChange && (
            <Button look="primary" onClick={() => setIsNew(true)}>
              New schedule
            </Button>
          )}
        </>
      }
    >
      {view === 'week' && list.items.length > 0 && (
        <div className="min-h-0 overflow-y-auto" tabIndex={0} role="region" aria-label="Calendar of the week">
          <PlannedRunsOfWeek schedules={list.items} />
        </div>
      )}
      <ListSearchAndFilters
        search="Search schedules"
        filters={[{ name: 'enabled', label: 'Status', options: states }]}
      />
      <DataTable
        label="Schedules"
        list={list}
        columns={columns}
        card={ScheduleCard}
        rowId={({ id }) => id}
        empty={
          Object.keys(filter ?? {}).length > 0 ? (
            <EmptyNote title="No matching schedules." />
          ) : (
            <EmptyNote title="No schedules yet.">
              A schedule launches a workflow at set times. Use “New schedule” to create one.
            </EmptyNote>
          )
        }
      />
      {isNew && (
        <Suspense>
          <NewScheduleDialog
            open
            onOpenChange={setIsNew}
            made={() => void client.invalidateQueries({ queryKey: ['schedules'] })}
          />
        </Suspense>
      )}
    </Page>
  );
}

/** The schedule's times in words; the tooltip shows the cron expression and the time zone. */
function ScheduleTimes({ schedule: { cronExpression, timezone } }: { schedule: Schedule }) {
  const words = describeCron(cronExpression)?.replace(/\.$/, '');
  return (
    <span title={`${cronExpression} (${timezone})`}>
      {words ?? <code className="font-mono text-xs">{cronExpression}</code>}
    </span>
  );
}

function ScheduleCard(schedule: Schedule) {
  return (
    <TableCard
      title={
        <Link to="/schedules/$id" params={{ id: schedule.id }} className="font-medium hover:underline">
          <bdi>{schedule.name}</bdi>
        </Link>
      }
      aside={<StatusMark status={schedule.enabled ? 'enabled' : 'disabled'} />}
      facts={[
        <ScheduleTimes key="when" schedule={schedule} />,
        schedule.nextRunAt && (
          <span key="next">
            next <Time at={schedule.nextRunAt} relative />
          </span>
        ),
        schedule.lastResult && `last ${schedule.lastResult}`,
        <WorkflowLink key="workflow" id={schedule.scriptId} />,
        <AgentOfRun key="agent" run={schedule} />,
      ]}
    />
  );
}
