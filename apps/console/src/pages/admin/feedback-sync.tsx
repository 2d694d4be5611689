import { useQuery, useQueryClient } from '@tanstack/react-query';
import {
  feedbackSyncRead,
  feedbackSyncReplay,
  type FeedbackSync as Sync,
  type TrackerState,
} from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { formatCount } from '../../format/format';
import { Time } from '../../format/time';
import { ErrorNote } from '../../ui/error-note';
import { ActionMenu } from '../../ui/menu';
import { EmptyNote, FactList, Panel, Skeleton } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { showToast, showErrorToast } from '../../ui/toast';
import { PlainTable } from '../../ui/table/plain-table';

/** State of the synchronization with the trackers, and the updates that failed permanently. */
export function FeedbackSync() {
  const { data, error, refetch } = useQuery({
    queryKey: ['feedback-sync'],
    queryFn: ({ signal }) => feedbackSyncRead({ signal }),
    refetchInterval: pollMs,
  });
  if (!data) {
    return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={6} />;
  }
  return (
    <div className="flex flex-col gap-4">
      <Panel title="Feedback sync">
        <FactList
          facts={[
            ['Automation', <StatusMark status={data.enabled ? 'enabled' : 'disabled'} />],
            ['Codehost', <TrackerPanel state={data.codehost} />],
            ['Tasktracker', <TrackerPanel state={data.tasktracker} />],
            ['Waiting', formatCount(data.pending)],
            ['Last compared', <Time at={data.lastReconciledAt} />],
          ]}
        />
      </Panel>
      <FailedUpdates items={data.dead} />
    </div>
  );
}

function TrackerPanel({ state: { configured, stopped } }: { state: TrackerState }) {
  if (!configured) return 'not configured';
  if (!stopped) return <StatusMark status="active" />;
  return (
    <>
      <StatusMark status="stopped" /> since <Time at={stopped.since} />: <bdi>{stopped.reason}</bdi>
    </>
  );
}

function FailedUpdates({ items }: { items: Sync['dead'] }) {
  const client = useQueryClient();
  const replayUpdate = async (id: string) => {
    try {
      await feedbackSyncReplay({ path: { id } });
      showToast('The report is sent to the tracker again.');
    } catch (error) {
      showErrorToast(error);
    }
    await client.invalidateQueries({ queryKey: ['feedback-sync'] });
  };
  return (
    <Panel title="Dead letters">
      {items.length === 0 && (
        <EmptyNote title="No dead letters.">
          Reports that could not be sent to their issue tracker appear here. You can send them again.
        </EmptyNote>
      )}
      {items.length > 0 && (
        <PlainTable label="Dead letters" heads={['Since', 'Tracker', 'Attempts', 'Error', 'Actions']}>
          {items.map(({ id, submissionId, tracker, attempts, error, since }) => (
            <tr key={id}>
              <td>
                <Time at={since} relative />
              </td>
              <td>{tracker}</td>
              <td className="tabular-nums">{attempts}</td>
              <td>
                <bdi>{error}</bdi>
              </td>
              <td>
                <ActionMenu
                  name={`report ${submissionId.slice(-8)}`}
                  actions={[{ label: 'Replay', run: () => void replayUpdate(id) }]}
                />
              </td>
            </tr>
          ))}
        </PlainTable>
      )}
    </Panel>
  );
}
