import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type QueueProbe, type QueueState, queuesProbe, queuesQueues } from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { formatCount, formatDuration } from '../../format/format';
import { Duration, Time } from '../../format/time';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';
import { Panel, Skeleton } from '../../ui/page';
import { PlainTable } from '../../ui/table/plain-table';
import { showToast } from '../../ui/toast';

/** The service's queues over all organizations, and the probe messages that prove that each queue is processed. */
export function ServiceQueues() {
  const client = useQueryClient();
  const queryKey = ['queues', 'service'];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => queuesQueues({ signal }),
    refetchInterval: pollMs,
  });
  const probing = useMutation({
    mutationFn: () => queuesProbe({ body: { count: 1 } }),
    onSuccess: async ({ probes }) => {
      showToast(`${probes.length} probe messages were sent.`);
      await client.invalidateQueries({ queryKey });
    },
  });
  return (
    <Panel
      title="Queues of the service"
      actions={
        <Button busy={probing.isPending} onClick={() => probing.mutate()}>
          Send probe messages
        </Button>
      }
    >
      {error && <ErrorNote error={error} retry={() => void refetch()} />}
      {probing.isError && <ErrorNote error={probing.error} />}
      {!data && !error && <Skeleton rows={5} />}
      {data && (
        <PlainTable
          label="Queues of the service"
          heads={[
            ...['Queue', 'Waiting', 'Longest wait', 'Handled per minute', 'Failed in the last hour', 'Dead'],
            ...['Latest probe message', 'Duration'],
          ]}
        >
          {data.queues.map(({ name, app, purpose, waiting, oldestWaitingAt, dead, lastProbe, ...rate }) => (
            <tr key={name} className="tabular-nums">
              <td title={`${purpose} (${app})`} className="font-medium">
                {name}
              </td>
              <td>{formatCount(waiting)}</td>
              <td>{oldestWaitingAt ? <Duration from={oldestWaitingAt} /> : '–'}</td>
              <td title="Over the last five minutes">
                {rate.handledPerMinute === null ? '–' : formatCount(rate.handledPerMinute)}
              </td>
              <td className={rate.failedLastHour ? 'font-medium text-bad' : ''}>{formatFailures(rate)}</td>
              <td className={dead > 0 ? 'font-medium text-bad' : ''}>{formatCount(dead)}</td>
              <td>
                <Time at={lastProbe?.requestedAt} relative />
              </td>
              <td>{lastProbe ? describeProbeAnswer(lastProbe) : '–'}</td>
            </tr>
          ))}
        </PlainTable>
      )}
    </Panel>
  );
}

function describeProbeAnswer({ requestedAt, handledAt }: QueueProbe): string {
  return handledAt ? formatDuration(Date.parse(handledAt) - Date.parse(requestedAt)) : 'not processed yet';
}

/** Shows the failed attempts together with all attempts, so that a reader sees whether a few or all of them failed. */
function formatFailures({
  failedLastHour,
  handledLastHour,
}: Pick<QueueState, 'failedLastHour' | 'handledLastHour'>): string {
  if (failedLastHour === null || handledLastHour === null) return '–';
  return `${formatCount(failedLastHour)} of ${formatCount(failedLastHour + handledLastHour)}`;
}
