import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import {
  type NotificationChannel,
  type NotificationChannelList,
  notificationChannelsDelete,
  notificationChannelsList,
  notificationChannelsUpdate,
} from '../../../api/generated';
import { useList } from '../../../api/use-list';
import { Time } from '../../../format/time';
import { ReceiverState } from '../../../parts/webhooks/receiver-state';
import { Button } from '../../../ui/button';
import { CopyText } from '../../../ui/copy-text';
import { ConfirmDialog, Dialog, DialogActions } from '../../../ui/dialog';
import { ActionMenu } from '../../../ui/menu';
import { SimpleList } from '../../../ui/table/simple-list';
import { useUrlState } from '../../../ui/table/use-url-state';
import { showToast } from '../../../ui/toast';
import { ChannelForm } from './channel-form';
import { describeAttempt, describeTarget, kindLabels } from './channel-texts';
import { TestDialog } from './test-dialog';

const getChannels = (page: NotificationChannelList) => page.notificationChannels;

/** Notification channels: where people and programs are notified of events and alerts. */
export function Channels() {
  const [{ q }] = useUrlState();
  const [writing, setWriting] = useState<NotificationChannel | 'new' | null>(null);
  const [testing, setTesting] = useState<NotificationChannel | null>(null);
  const [leaving, setLeaving] = useState<NotificationChannel | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const client = useQueryClient();
  const refreshChannels = () => client.invalidateQueries({ queryKey: ['notification-channels'] });
  const list = useList({
    queryKey: ['notification-channels', 'list', q],
    fetchPage: (page, signal) => notificationChannelsList({ query: { ...page, q }, signal }),
    itemsOf: getChannels,
  });
  const toggleEnabled = async ({ id, enabled }: NotificationChannel) => {
    await notificationChannelsUpdate({ path: { id }, body: { enabled: !enabled } });
    await refreshChannels();
    showToast(enabled ? 'The channel is off.' : 'The channel is on; waiting notifications are sent.');
  };
  return (
    <>
      <p className="mb-3 text-dim">
        A channel sends the events that it receives, and the alerts of the rules that use it. Rules are under{' '}
        <Link to="/settings" search={{ part: 'Alerts' }} className="text-accent underline">
          Alerts
        </Link>
        .
      </p>
      <SimpleList
        title="Channels"
        actions={
          <Button look="primary" onClick={() => setWriting('new')}>
            New channel
          </Button>
        }
        list={list}
        search="Search channels"
        empty="No channels yet. Use “New channel” to notify people by e-mail, Slack or Teams, or a program by webhook."
        heads={['Channel', 'Events', 'State', 'Last message', 'Actions']}
        row={(channel) => (
          <tr key={channel.id} data-testid="notification-channel">
            <td className="min-w-36 [overflow-wrap:anywhere]">
              <bdi>{channel.name}</bdi>
              <p className="text-xs text-dim">
                {kindLabels[channel.kind]}: <bdi>{describeTarget(channel)}</bdi>
              </p>
            </td>
            <td className="text-xs">
              {channel.events.includes('*') ? 'all events' : channel.events.join(', ')}
              {channel.filter && <p className="text-dim">filtered</p>}
            </td>
            <td>
              <ReceiverState receiver={channel} sent="message" gone="the address no longer exists" />
            </td>
            <td className="min-w-40 text-xs [overflow-wrap:anywhere]">
              {channel.lastAttempt ? (
                <>
                  {describeAttempt(channel.kind, channel.lastAttempt)} <Time at={channel.lastAttempt.at} relative />
                </>
              ) : (
                'none yet'
              )}
            </td>
            <td>
              <ActionMenu
                name={channel.name}
                actions={[
                  { label: 'Send test', run: () => setTesting(channel) },
                  { label: 'Change', run: () => setWriting(channel) },
                  {
                    label: channel.enabled ? 'Turn off' : 'Turn on',
                    run: () => void toggleEnabled(channel).catch((error: Error) => showToast(error.message)),
                  },
                  { label: 'Delete', danger: true, run: () => setLeaving(channel) },
                ]}
              />
            </td>
          </tr>
        )}
      />
      {writing && (
        <ChannelForm
          channel={writing === 'new' ? null : writing}
          close={() => setWriting(null)}
          saved={(shown) => {
            setSecret(shown);
            void refreshChannels();
          }}
        />
      )}
      {testing && (
        <TestDialog
          channel={testing}
          close={() => {
            setTesting(null);
            void refreshChannels();
          }}
        />
      )}
      <Dialog open={secret !== null} onOpenChange={() => setSecret(null)} title="Signing secret" keeps>
        <p>This secret is shown only once. Use it to verify the signatures of deliveries (Standard Webhooks).</p>
        <CopyText label="Secret" text={secret ?? ''} />
        <DialogActions>
          <Button look="primary" onClick={() => setSecret(null)}>
            Done
          </Button>
        </DialogActions>
      </Dialog>
      {leaving && (
        <ConfirmDialog
          open
          onOpenChange={() => setLeaving(null)}
          title="Delete this channel?"
          verb="Delete"
          act={async () => {
            await notificationChannelsDelete({ path: { id: leaving.id } });
            await refreshChannels();
            showToast('The channel is deleted.');
          }}
        >
          <bdi>{leaving.name}</bdi> gets no more notifications, and waiting ones are not sent. Alert rules no longer
          send to it. This cannot be undone.
        </ConfirmDialog>
      )}
    </>
  );
}
