import { useQueryClient } from '@tanstack/react-query';
import { removeDirectionMarks } from '../../format/one-direction';
import type { ColumnDef } from '@tanstack/react-table';
import { commandKinds } from '@muster/contracts/words';
import {
  agentCommandsHistory,
  type AgentCommandsHistoryData,
  type CommandEntry,
  type CommandHistory,
} from '../../api/generated';
import { getAdvice } from '../../api/advice';
import { useList } from '../../api/use-list';
import { Duration, Time } from '../../format/time';
import { useAgentEvents } from '../../live/use-agent-events';
import { useThrottled } from '../../live/use-throttled';
import { RunLink } from '../../parts/names';
import { EmptyNote } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { DataTable } from '../../ui/table/data-table';
import { ListSearchAndFilters } from '../../ui/table/list-tools';
import { useUrlState } from '../../ui/table/use-url-state';

const getCommands = (page: CommandHistory) => page.commands;
const refreshMs = 1000;

const columns: ColumnDef<CommandEntry>[] = [
  {
    id: 'status',
    header: 'Status',
    meta: { className: 'w-28' },
    cell: ({ row: { original } }) => <StatusMark status={original.status} />,
  },
  {
    id: 'kind',
    header: 'Command',
    meta: { className: 'w-44' },
    cell: ({ row: { original } }) => <code className="font-mono text-xs">{original.kind}</code>,
  },
  {
    id: 'about',
    header: 'Details',
    meta: { className: 'max-sm:hidden' },
    cell: ({ row: { original } }) => <CommandDetails command={original} />,
  },
  {
    id: 'createdAt',
    header: 'Requested',
    meta: { className: 'w-28 max-md:hidden' },
    cell: ({ row: { original } }) => <Time at={original.createdAt} relative />,
  },
  {
    id: 'taken',
    header: 'Waited',
    meta: { className: 'w-24 max-lg:hidden' },
    cell: ({ row: { original } }) => (
      <Duration from={original.createdAt} to={original.takenAt ?? original.finishedAt} />
    ),
  },
  {
    id: 'took',
    header: 'Duration',
    meta: { className: 'w-24 max-lg:hidden' },
    cell: ({ row: { original } }) => <Duration from={original.takenAt} to={original.finishedAt} />,
  },
];

/** Commands for this machine and their results. A run is cancelled on its own page, which its command links to. */
export function Commands({ agentId }: { agentId: string }) {
  const [{ q, status, kind }] = useUrlState();
  const client = useQueryClient();
  const query = { q, status, kind } as AgentCommandsHistoryData['query'];
  const list = useList({
    queryKey: ['commands', agentId, query],
    fetchPage: (page, signal) => agentCommandsHistory({ path: { id: agentId }, query: { ...page, ...query }, signal }),
    itemsOf: getCommands,
  });
  const look = useThrottled(() => client.invalidateQueries({ queryKey: ['commands', agentId] }), refreshMs);
  useAgentEvents(agentId, look);
  return (
    <>
      <ListSearchAndFilters
        search="Search commands"
        filters={[
          { name: 'status', label: 'Status', options: ['pending', 'success', 'failed'] },
          { name: 'kind', label: 'Kind', options: commandKinds },
        ]}
      />
      <div className="flex max-h-[70vh] min-h-0 flex-col gap-4">
        <DataTable
          label="Commands"
          list={list}
          columns={columns}
          rowId={({ commandId }) => commandId}
          empty={<EmptyNote title={q || status || kind ? 'No commands match the filters.' : 'No commands yet.'} />}
        />
      </div>
    </>
  );
}

function CommandDetails({ command: { jobId, error, code } }: { command: CommandEntry }) {
  const why = error ? removeDirectionMarks(error) : getAdvice(code);
  return (
    <>
      {jobId && <RunLink id={jobId} />}{' '}
      {why && (
        <bdi className="text-dim" title={why}>
          {why}
        </bdi>
      )}
    </>
  );
}
