import { useQuery } from '@tanstack/react-query';
import { type NotificationChannel, notificationChannelsRead, notificationChannelsTest } from '../../../api/generated';
import { Button } from '../../../ui/button';
import { Dialog, DialogActions } from '../../../ui/dialog';
import { ErrorNote } from '../../../ui/error-note';
import { Skeleton } from '../../../ui/page';
import { StatusMark } from '../../../ui/status-mark';
import { describeAttempt } from './channel-texts';

/** Time between two reads of the result, in milliseconds. */
const pollMs = 1000;

/** Sends a test message to a channel, and shows its result as soon as there is one. */
export function TestDialog({ channel, close }: { channel: NotificationChannel; close: () => void }) {
  const { id, name, kind } = channel;
  const sent = useQuery({
    queryKey: ['notification-channel-test', id],
    // The attempt before the test is read first, because a message may have been sent since the list was loaded.
    queryFn: async ({ signal }) => {
      const { lastAttempt } = await notificationChannelsRead({ path: { id }, signal });
      const { messages } = await notificationChannelsTest({ path: { id } });
      return { messages, before: lastAttempt?.at ?? null };
    },
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  const result = useQuery({
    queryKey: ['notification-channel-test', id, 'result', sent.dataUpdatedAt],
    queryFn: async ({ signal }) => {
      const { lastAttempt } = await notificationChannelsRead({ path: { id }, signal });
      return lastAttempt && lastAttempt.at !== sent.data?.before ? lastAttempt : null;
    },
    enabled: sent.isSuccess,
    gcTime: 0,
    refetchInterval: ({ state }) => (state.data && state.data.status !== 'sending' ? false : pollMs),
  });
  const attempt = result.data;
  return (
    <Dialog open onOpenChange={close} title={`Test of ${name}`}>
      {sent.isPending && <Skeleton rows={1} />}
      {sent.isError && <ErrorNote error={sent.error} retry={() => void sent.refetch()} />}
      {sent.isSuccess && (
        <div role="status" className="flex flex-col gap-2 [overflow-wrap:anywhere]">
          <p>
            {sent.data.messages === 1 ? 'A test message was sent.' : `${sent.data.messages} test messages were sent.`}
          </p>
          {attempt ? (
            <div className="flex flex-wrap items-center gap-2">
              <StatusMark status={attempt.status} />
              <span>
                <bdi>{describeAttempt(kind, attempt)}</bdi>
              </span>
            </div>
          ) : (
            <p className="text-dim">Waiting for the result…</p>
          )}
          {attempt && sent.data.messages > 1 && (
            <p className="text-xs text-dim">This is the result of the last message.</p>
          )}
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
