import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type WebhookEndpoint,
  webhookEndpointsDelete,
  type WebhookEndpointList,
  webhookEndpointsList,
  webhookEndpointsRotate,
  webhookEndpointsTest,
  webhookEndpointsUpdate,
} from '../../../api/generated';
import { useList } from '../../../api/use-list';
import { ReceiverState } from '../../../parts/webhooks/receiver-state';
import { Button } from '../../../ui/button';
import { CopyText } from '../../../ui/copy-text';
import { ConfirmDialog, Dialog, DialogActions } from '../../../ui/dialog';
import { ActionMenu } from '../../../ui/menu';
import { SimpleList } from '../../../ui/table/simple-list';
import { useUrlState } from '../../../ui/table/use-url-state';
import { showToast } from '../../../ui/toast';
import { Deliveries, refreshDeliveries } from './deliveries';
import { EndpointForm } from './endpoint-form';

const getEndpoints = (page: WebhookEndpointList) => page.webhookEndpoints;

/** Webhook endpoints, and the deliveries of the selected endpoint. */
export function Webhooks() {
  const [{ endpoint, q }, change] = useUrlState();
  const [writing, setWriting] = useState<WebhookEndpoint | 'new' | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const [rotating, setRotating] = useState<WebhookEndpoint | null>(null);
  const [leaving, setLeaving] = useState<WebhookEndpoint | null>(null);
  const client = useQueryClient();
  const refreshEndpoints = () => client.invalidateQueries({ queryKey: ['webhooks'] });
  const list = useList({
    queryKey: ['webhooks', q],
    fetchPage: (page, signal) => webhookEndpointsList({ query: { ...page, q }, signal }),
    itemsOf: getEndpoints,
  });
  const sendTestEvent = async ({ id }: WebhookEndpoint) => {
    await webhookEndpointsTest({ path: { id } });
    showToast('A test event was sent.');
    change({ endpoint: id });
    refreshDeliveries(client, id);
  };
  const toggleEnabled = async ({ id, enabled }: WebhookEndpoint) => {
    await webhookEndpointsUpdate({ path: { id }, body: { enabled: !enabled } });
    await refreshEndpoints();
    showToast(enabled ? 'The endpoint is disabled.' : 'The endpoint is enabled; waiting events are sent.');
  };
  const showFailure = (error: Error) => showToast(error.message);
  const chosen = list.items.find(({ id }) => id === endpoint);
  return (
    <>
      <SimpleList
        title="Webhooks"
        actions={
          <Button look="primary" onClick={() => setWriting('new')}>
            New endpoint
          </Button>
        }
        list={list}
        search="Search endpoints"
        empty="No endpoints yet. Use “New endpoint” to add an address that receives events."
        heads={['Address', 'Events', 'State', 'Actions']}
        row={(each) => (
          <tr key={each.id} data-testid="webhook-endpoint" aria-current={each.id === endpoint || undefined}>
            <td className="max-w-72 min-w-40">
              <button
                type="button"
                className="text-left break-all text-accent hover:underline"
                onClick={() => change({ endpoint: each.id, status: undefined, type: undefined })}
              >
                <bdi>{each.url}</bdi>
              </button>
              {each.description && (
                <p className="text-xs text-dim">
                  <bdi>{each.description}</bdi>
                </p>
              )}
            </td>
            <td className="text-xs">{each.events.includes('*') ? 'all events' : each.events.join(', ')}</td>
            <td>
              <ReceiverState receiver={each} sent="delivery" gone="the receiver returned 410" />
            </td>
            <td>
              <ActionMenu
                name={each.url}
                actions={[
                  { label: 'Send test', run: () => void sendTestEvent(each).catch(showFailure) },
                  { label: 'Change', run: () => setWriting(each) },
                  {
                    label: each.enabled ? 'Turn off' : 'Turn on',
                    run: () => void toggleEnabled(each).catch(showFailure),
                  },
                  { label: 'Rotate secret', run: () => setRotating(each) },
                  { label: 'Delete', danger: true, run: () => setLeaving(each) },
                ]}
              />
            </td>
          </tr>
        )}
      />
      {chosen && <Deliveries endpoint={chosen} close={() => change({ endpoint: undefined })} />}
      {writing && (
        <EndpointForm
          endpoint={writing === 'new' ? null : writing}
          close={() => setWriting(null)}
          made={(shown) => {
            setSecret(shown);
            void refreshEndpoints();
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
      {rotating && (
        <ConfirmDialog
          open
          onOpenChange={() => setRotating(null)}
          title="Rotate the secret?"
          verb="Rotate"
          act={async () => {
            const { secret: next } = await webhookEndpointsRotate({ path: { id: rotating.id } });
            setSecret(next);
          }}
        >
          <bdi>{rotating.url}</bdi> gets a new secret. For 24 hours, deliveries are also signed with the old secret.
        </ConfirmDialog>
      )}
      {leaving && (
        <ConfirmDialog
          open
          onOpenChange={() => setLeaving(null)}
          title="Delete this endpoint?"
          verb="Delete"
          act={async () => {
            await webhookEndpointsDelete({ path: { id: leaving.id } });
            change({ endpoint: undefined });
            await refreshEndpoints();
            showToast('The endpoint is deleted.');
          }}
        >
          <bdi>{leaving.url}</bdi> receives no more events. All its deliveries are deleted, including pending ones. This
          cannot be undone.
        </ConfirmDialog>
      )}
    </>
  );
}
