import { useQueryClient } from '@tanstack/react-query';
import type { ColumnDef } from '@tanstack/react-table';
import { useMemo, useState } from 'react';
import { recordingStatuses } from '@muster/contracts/words';
import {
  agentActionsAct,
  type Recording,
  type RecordingList,
  recordingsList,
  type RecordingsListData,
  recordingsRead,
} from '../../api/generated';
import { useList } from '../../api/use-list';
import { Duration, Time } from '../../format/time';
import { useAgentEvents } from '../../live/use-agent-events';
import { useThrottled } from '../../live/use-throttled';
import { shortenId } from '../../parts/names';
import { Button } from '../../ui/button';
import { ActionMenu } from '../../ui/menu';
import { EmptyNote } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { DataTable } from '../../ui/table/data-table';
import { ListSearchAndFilters } from '../../ui/table/list-tools';
import { useUrlState } from '../../ui/table/use-url-state';
import { showToast, showErrorToast } from '../../ui/toast';
import { AnalyzeRecordingDialog, NewRecordingDialog, StepsDialog } from './recording-dialogs';

const getRecordings = (page: RecordingList) => page.recordings;
const refreshMs = 1000;

type Deed = { deed: 'steps' | 'film'; recording: Recording };

/** Recordings of this machine: videos and browser steps, which workflows can be created from. */
export function Recordings({ agentId, mayAsk }: { agentId: string; mayAsk: boolean }) {
  const [{ q, status }] = useUrlState();
  const [isMaking, setMaking] = useState(false);
  const [deed, setDeed] = useState<Deed | null>(null);
  const client = useQueryClient();
  const query = { q, status } as RecordingsListData['query'];
  const list = useList({
    queryKey: ['recordings', agentId, query],
    fetchPage: (page, signal) => recordingsList({ path: { id: agentId }, query: { ...page, ...query }, signal }),
    itemsOf: getRecordings,
  });
  const look = useThrottled(() => client.invalidateQueries({ queryKey: ['recordings', agentId] }), refreshMs);
  useAgentEvents(agentId, look);
  const columns = useRecordingColumns(mayAsk, setDeed, look);
  return (
    <>
      <ListSearchAndFilters
        search="Search recordings"
        filters={[{ name: 'status', label: 'Status', options: recordingStatuses }]}
      >
        {mayAsk && <Button onClick={() => setMaking(true)}>New recording</Button>}
      </ListSearchAndFilters>
      <div className="flex max-h-[70vh] min-h-0 flex-col gap-4">
        <DataTable
          label="Recordings"
          list={list}
          columns={columns}
          rowId={({ id }) => id}
          empty={
            <EmptyNote title={q || status ? 'No recordings match the filters.' : 'No recordings yet.'}>
              “New recording” records the screen, or opens a browser whose steps can become a workflow.
            </EmptyNote>
          }
        />
      </div>
      <NewRecordingDialog agentId={agentId} open={isMaking} onOpenChange={setMaking} begun={look} />
      {deed?.deed === 'steps' && <StepsDialog recording={deed.recording} close={() => setDeed(null)} />}
      {deed?.deed === 'film' && <AnalyzeRecordingDialog recording={deed.recording} close={() => setDeed(null)} />}
    </>
  );
}

function useRecordingColumns(mayAsk: boolean, begin: (deed: Deed) => void, look: () => void): ColumnDef<Recording>[] {
  return useMemo(
    () => [
      {
        id: 'status',
        header: 'Status',
        meta: { className: 'w-30' },
        cell: ({ row: { original } }) => <StatusMark status={original.status} />,
      },
      {
        id: 'name',
        header: 'Name',
        cell: ({ row: { original } }) => <RecordingName recording={original} />,
      },
      {
        id: 'kind',
        header: 'Kind',
        meta: { className: 'w-24 max-md:hidden' },
        cell: ({ row: { original } }) => original.kind ?? '–',
      },
      {
        id: 'createdAt',
        header: 'Requested',
        meta: { className: 'w-28 max-sm:hidden' },
        cell: ({ row: { original } }) => <Time at={original.createdAt} relative />,
      },
      {
        id: 'took',
        header: 'Length',
        meta: { className: 'w-28 max-lg:hidden' },
        cell: ({ row: { original } }) => <Duration from={original.startedAt} to={original.endedAt} />,
      },
      {
        id: 'actions',
        header: () => <span className="sr-only">Actions</span>,
        meta: { className: 'w-14 text-right' },
        cell: ({ row: { original } }) => (
          <ActionMenu
            name={formatRecordingName(original)}
            actions={[
              mayAsk &&
                original.status === 'recording' && {
                  label: 'Stop',
                  run: () => void stopRecording(original).then(look),
                },
              original.artifactId !== null && { label: 'Download video', run: () => void downloadRecording(original) },
              mayAsk &&
                original.eventsArtifactId !== null && {
                  label: 'Create a workflow from the steps',
                  run: () => begin({ deed: 'steps', recording: original }),
                },
              mayAsk &&
                original.status === 'kept' && {
                  label: 'Create a workflow with a language model',
                  run: () => begin({ deed: 'film', recording: original }),
                },
            ]}
          />
        ),
      },
    ],
    [mayAsk, begin, look],
  );
}

function RecordingName({ recording }: { recording: Recording }) {
  const { error, startUrl } = recording;
  const note = error ?? startUrl;
  return (
    <>
      <bdi className="font-medium">{formatRecordingName(recording)}</bdi>
      {note && (
        <bdi className="ml-2 text-xs text-dim" title={note}>
          {note}
        </bdi>
      )}
    </>
  );
}

function formatRecordingName({ name, id }: Recording): string {
  return name ?? `Recording ${shortenId(id)}`;
}

async function stopRecording({ id, agentId }: Recording): Promise<void> {
  try {
    await agentActionsAct({ path: { id: agentId }, body: { action: 'stop_recording', recordingId: id } });
    showToast('The recording is being stopped.');
  } catch (error) {
    showErrorToast(error);
  }
}

/** Downloads directly from object storage, with a URL that is valid for one hour. */
async function downloadRecording(recording: Recording): Promise<void> {
  try {
    const { downloadUrl } = await recordingsRead({ path: { id: recording.id } });
    if (!downloadUrl) return showToast('The video cannot be downloaded at the moment. Try again later.');
    const link = document.createElement('a');
    link.href = downloadUrl;
    link.download = formatRecordingName(recording);
    link.rel = 'noreferrer';
    link.click();
  } catch (error) {
    showErrorToast(error);
  }
}
