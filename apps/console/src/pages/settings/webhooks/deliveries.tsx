import { deliveryStatuses, webhookTypes } from '@muster/contracts/words';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type WebhookDelivery,
  webhookDeliveriesList,
  webhookDeliveriesRead,
  webhookDeliveriesRedeliver,
  type WebhookDeliveryList,
  type WebhookEndpoint,
} from '../../../api/generated';
import { useList } from '../../../api/use-list';
import { Duration, Time } from '../../../format/time';
import { Button } from '../../../ui/button';
import { Dialog, DialogActions } from '../../../ui/dialog';
import { ErrorNote } from '../../../ui/error-note';
import { FactList, Skeleton } from '../../../ui/page';
import { StatusMark } from '../../../ui/status-mark';
import { ListSearchAndFilters } from '../../../ui/table/list-tools';
import { PlainTable } from '../../../ui/table/plain-table';
import { SimpleList } from '../../../ui/table/simple-list';
import { useUrlState } from '../../../ui/table/use-url-state';
import { showToast } from '../../../ui/toast';

const getDeliveries = (page: WebhookDeliveryList) => page.deliveries;

/** The deliveries to an endpoint in the last 30 days, including pending ones. */
export function Deliveries({ endpoint: { id, url }, close }: { endpoint: WebhookEndpoint; close: () => void }) {
  const [{ status, type }] = useUrlState();
  const [shown, setShown] = useState<string | null>(null);
  const filter = { status, type } as Pick<WebhookDelivery, 'status' | 'type'>;
  const list = useList({
    queryKey: ['webhook-deliveries', id, filter],
    fetchPage: (page, signal) => webhookDeliveriesList({ path: { id }, query: { ...page, ...filter }, signal }),
    itemsOf: getDeliveries,
  });
  return (
    <div className="mt-4 flex flex-col gap-3">
      <ListSearchAndFilters
        filters={[
          { name: 'status', label: 'Status', options: deliveryStatuses },
          { name: 'type', label: 'Type', options: webhookTypes },
        ]}
      >
        <Button onClick={close}>Hide deliveries</Button>
      </ListSearchAndFilters>
      <SimpleList
        title={`Deliveries to ${url}`}
        list={list}
        empty={status || type ? 'No matching deliveries.' : 'No deliveries yet.'}
        heads={['When', 'Type', 'Status', 'Attempts', 'Next attempt']}
        row={(delivery) => (
          <tr key={delivery.id} data-testid="webhook-delivery">
            <td>
              <Time at={delivery.createdAt} relative />
            </td>
            <td>
              <button type="button" className="text-accent hover:underline" onClick={() => setShown(delivery.id)}>
                {delivery.type}
              </button>
            </td>
            <td>
              <StatusMark status={delivery.status} />
            </td>
            <td>{delivery.attempts.length}</td>
            <td>
              <Time at={delivery.nextAttemptAt} relative />
            </td>
          </tr>
        )}
      />
      {shown && <DeliveryDialog id={id} deliveryId={shown} close={() => setShown(null)} />}
    </div>
  );
}

function DeliveryDialog({ id, deliveryId, close }: { id: string; deliveryId: string; close: () => void }) {
  const client = useQueryClient();
  const path = { id, deliveryId };
  const query = useQuery({
    queryKey: ['webhook-deliveries', id, 'one', deliveryId],
    queryFn: ({ signal }) => webhookDeliveriesRead({ path, signal }),
  });
  const redeliverEvent = async () => {
    await webhookDeliveriesRedeliver({ path });
    showToast('The event is sent again.');
    close();
    refreshDeliveries(client, id);
  };
  const { data } = query;
  return (
    <Dialog open onOpenChange={close} title={data?.type ?? 'Delivery'} wide>
      {query.isPending && <Skeleton />}
      {query.isError && <ErrorNote error={query.error} retry={() => void query.refetch()} />}
      {data && (
        <>
          <FactList
            facts={[
              ['Status', <StatusMark status={data.status} />],
              ['webhook-id', <code className="font-mono text-xs break-all">{data.id}</code>],
              ['Created', <Time at={data.createdAt} />],
              ['Next attempt', <Time at={data.nextAttemptAt} />],
            ]}
          />
          <PlainTable label="Attempts" heads={['When', 'Response', 'Duration', 'Error']}>
            {data.attempts.map(({ at, statusCode, durationMs, error }) => (
              <tr key={at}>
                <td>
                  <Time at={at} />
                </td>
                <td>{statusCode ?? 'none'}</td>
                <td>
                  <Duration ms={durationMs} />
                </td>
                <td>
                  <bdi>{error ?? '–'}</bdi>
                </td>
              </tr>
            ))}
          </PlainTable>
          <pre
            tabIndex={0}
            aria-label="Body"
            className="max-h-80 shrink-0 overflow-auto rounded-control bg-sunken p-2 font-mono text-xs break-words whitespace-pre-wrap"
          >
            {indentJson(data.body)}
          </pre>
          <DialogActions>
            <Button
              look="primary"
              onClick={() => void redeliverEvent().catch((error: Error) => showToast(error.message))}
            >
              Redeliver
            </Button>
          </DialogActions>
        </>
      )}
    </Dialog>
  );
}

/** Delay after which most deliveries have their result. */
const soonMs = 1500;

/** Refreshes the deliveries after a send request: now, and once more when the result is expected. */
export function refreshDeliveries(client: QueryClient, id: string): void {
  const invalidateDeliveries = () => void client.invalidateQueries({ queryKey: ['webhook-deliveries', id] });
  invalidateDeliveries();
  setTimeout(invalidateDeliveries, soonMs);
}

/** Indents the JSON body, which is sent without spaces. */
function indentJson(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
