import { useQuery } from '@tanstack/react-query';
import {
  type NotificationChannel,
  notificationChannelsRead,
  notificationChannelsTest,
  type NotificationTestResult,
} from '../../../api/generated';
import { Button } from '../../../ui/button';
import { Dialog, DialogActions } from '../../../ui/dialog';
import { ErrorNote } from '../../../ui/error-note';
import { Skeleton } from '../../../ui/page';
import { StatusMark } from '../../../ui/status-mark';
import { describeAttempt } from './channel-texts';

/** Time between two reads of the result, in milliseconds. */
const pollMs = 1000;

/** Sends a test message to a channel, and shows the result of each recipient as soon as there is one. */
export function TestDialog({ channel, close }: { channel: NotificationChannel; close: () => void }) {
  const { id, name, kind } = channel;
  const sent = useQuery({
    queryKey: ['notification-channel-test', id],
    queryFn: () => notificationChannelsTest({ path: { id } }),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  const result = useQuery({
    queryKey: ['notification-channel-test', id, 'result', sent.dataUpdatedAt],
    queryFn: async ({ signal }) => (await notificationChannelsRead({ path: { id }, signal })).lastTest?.results ?? [],
    enabled: sent.isSuccess,
    gcTime: 0,
    refetchInterval: ({ state: { data = [] } }) => (data.length > 0 && data.every(hasTestResult) ? false : pollMs),
  });
  const results = result.data ?? [];
  return (
    <Dialog open onOpenChange={close} title={`Test of ${name}`}>
      {sent.isPending && <Skeleton rows={1} />}
      {sent.isError && <ErrorNote error={sent.error} retry={() => void sent.refetch()} />}
      {sent.isSuccess && (
        <div role="status" className="flex flex-col gap-2 [overflow-wrap:anywhere]">
          <p>
            {sent.data.messages === 1 ? 'A test message was sent.' : `${sent.data.messages} test messages were sent.`}
          </p>
          <ul className="flex flex-col gap-2">
            {results.map((each) => (
              <li key={each.recipient ?? ''} className="flex flex-wrap items-center gap-2">
                {hasTestResult(each) && <StatusMark status={each.status} />}
                {each.recipient !== null && <bdi className="font-medium">{each.recipient}</bdi>}
                <bdi>{hasTestResult(each) ? describeAttempt(kind, each) : 'Waiting for the result…'}</bdi>
              </li>
            ))}
          </ul>
        </div>
      )}
      {result.isError && <ErrorNote error={result.error} retry={() => void result.refetch()} />}
      <DialogActions>
        <Button look="primary" onClick={close}>
          Close
        </Button>
      </DialogActions>
    </Dialog>
  );
}

/** Whether the message was attempted. A message whose attempt failed is pending again until it is repeated. */
function hasTestResult({ status, statusCode, error }: NotificationTestResult): boolean {
  const isAttempted = statusCode !== null || error !== null;
  return status !== 'sending' && (status !== 'pending' || isAttempted);
}
