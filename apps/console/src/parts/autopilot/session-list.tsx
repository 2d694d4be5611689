import { Link } from '@tanstack/react-router';
import type { ColumnDef } from '@tanstack/react-table';
import { useMemo, useState } from 'react';
import { sessionStatuses } from '@muster/contracts/words';
import {
  type AutopilotSessionList,
  autopilotSessionsList,
  type AutopilotSessionsListData,
  type AutopilotSessionSummary,
} from '../../api/generated';
import { usePermission } from '../../api/session';
import { useList } from '../../api/use-list';
import { formatMoney } from '../../format/format';
import { removeDirectionMarks } from '../../format/one-direction';
import { Duration, Time } from '../../format/time';
import { ActionMenu } from '../../ui/menu';
import { EmptyNote } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { DataTable } from '../../ui/table/data-table';
import { ListSearchAndFilters } from '../../ui/table/list-tools';
import { useUrlState } from '../../ui/table/use-url-state';
import { CancelSessionDialog } from './cancel-session';
import { shortenId } from '../names';
import { isSessionOver } from './session-words';

const getSessions = (page: AutopilotSessionList) => page.sessions;

interface SessionListProps {
  /** Limits the list to this agent. */
  agentId?: string;
  /** Additional column, such as the agent if the list is of several agents. */
  column?: ColumnDef<AutopilotSessionSummary>;
}

/** Autopilot sessions, newest first. */
export function SessionList({ agentId, column }: SessionListProps) {
  const [{ q, status }] = useUrlState();
  const [ending, setEnding] = useState<AutopilotSessionSummary | null>(null);
  const mayControl = usePermission('agents.control');
  const query = { agentId, q, status } as AutopilotSessionsListData['query'];
  const list = useList({
    queryKey: ['autopilot-sessions', query],
    fetchPage: (page, signal) => autopilotSessionsList({ query: { ...page, ...query }, signal }),
    itemsOf: getSessions,
  });
  const columns = useColumns(mayControl, column, setEnding);
  return (
    <>
      <ListSearchAndFilters
        search="Search sessions"
        filters={[{ name: 'status', label: 'Status', options: sessionStatuses }]}
      />
      <DataTable
        label="Autopilot sessions"
        list={list}
        columns={columns}
        rowId={({ sessionId }) => sessionId}
        empty={
          q || status ? (
            <EmptyNote title="No sessions match these filters." />
          ) : (
            <EmptyNote title="No sessions yet">
              Choose “New session”. A language model then performs a task in a machine’s browser, step by step, and a
              workflow is created from the steps.
            </EmptyNote>
          )
        }
      />
      {ending && <CancelSessionDialog session={ending} open onOpenChange={() => setEnding(null)} />}
    </>
  );
}

function useColumns(
  mayControl: boolean,
  column: ColumnDef<AutopilotSessionSummary> | undefined,
  end: (session: AutopilotSessionSummary) => void,
): ColumnDef<AutopilotSessionSummary>[] {
  return useMemo(
    () => [
      {
        id: 'status',
        header: 'Status',
        meta: { className: 'w-32' },
        cell: ({ row: { original } }) => <StatusMark status={original.status} />,
      },
      {
        id: 'title',
        header: 'Task',
        cell: ({ row: { original } }) => <SessionLink session={original} />,
      },
      ...(column ? [column] : []),
      {
        id: 'passed',
        header: 'Steps',
        meta: { className: 'w-20 max-sm:hidden' },
        cell: ({ row: { original } }) => `${original.metrics.passed}/${original.metrics.steps}`,
      },
      {
        id: 'duration',
        header: 'Duration',
        meta: { className: 'w-28 max-lg:hidden' },
        cell: ({ row: { original } }) => <Duration ms={original.metrics.durationMs} />,
      },
      {
        id: 'cost',
        header: 'Cost',
        meta: { className: 'w-24 max-lg:hidden' },
        cell: ({ row: { original } }) => formatMoney(original.metrics.costUsd),
      },
      {
        id: 'createdAt',
        header: 'Created',
        meta: { className: 'w-28 max-sm:hidden' },
        cell: ({ row: { original } }) => <Time at={original.createdAt} relative />,
      },
      {
        id: 'actions',
        header: () => <span className="sr-only">Actions</span>,
        meta: { className: 'w-14 text-right' },
        cell: ({ row: { original } }) => (
          <ActionMenu
            name={original.title ?? `session ${shortenId(original.sessionId)}`}
            actions={[
              mayControl &&
                !isSessionOver(original.status) && { label: 'Cancel', danger: true, run: () => end(original) },
            ]}
          />
        ),
      },
    ],
    [mayControl, column, end],
  );
}

/** The session's task, with what it waits for or why it failed. */
function SessionLink({ session: { sessionId, title, pausedFor, error } }: { session: AutopilotSessionSummary }) {
  const question = pausedFor?.question ?? error;
  const note = question && removeDirectionMarks(question);
  return (
    <>
      <Link
        to="/autopilot/$id"
        params={{ id: sessionId }}
        className="font-medium hover:underline"
        title={title ?? undefined}
      >
        <bdi>{title ?? 'The task is being written'}</bdi>
      </Link>
      {note && (
        <bdi className="ml-2 text-xs text-dim" title={note}>
          {note}
        </bdi>
      )}
    </>
  );
}
