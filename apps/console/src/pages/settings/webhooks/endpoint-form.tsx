import { useState } from 'react';
import { type WebhookEndpoint, webhookEndpointsCreate, webhookEndpointsUpdate } from '../../../api/generated';
import { EventsField } from '../../../parts/webhooks/events-field';
import { Dialog } from '../../../ui/dialog';
import { Form, TextField } from '../../../ui/form';
import { showToast } from '../../../ui/toast';

type Told = WebhookEndpoint['events'];

interface EndpointFormProps {
  /** Null for a new endpoint. */
  endpoint: WebhookEndpoint | null;
  close: () => void;
  /** Called with the secret of a new endpoint, or with null after a change. */
  made: (secret: string | null) => void;
}

/** Creates or changes an endpoint: its address and its events. */
export function EndpointForm({ endpoint, close, made }: EndpointFormProps) {
  const [isEverything, setEverything] = useState(endpoint ? endpoint.events.includes('*') : true);
  return (
    <Dialog open onOpenChange={close} title={endpoint ? 'Change endpoint' : 'New endpoint'}>
      <Form
        submit={endpoint ? 'Save' : 'Create endpoint'}
        onSubmit={async (values): Promise<string | null> => {
          const body = {
            url: values.readText('url'),
            description: values.readText('description') || null,
            events: (isEverything ? ['*'] : values.readAll('events')) as Told,
          };
          if (!endpoint) return (await webhookEndpointsCreate({ body })).secret;
          await webhookEndpointsUpdate({ path: { id: endpoint.id }, body });
          return null;
        }}
        onDone={(secret) => {
          made(secret);
          if (endpoint) showToast('The endpoint was changed.');
          close();
        }}
      >
        <TextField
          label="Address"
          name="url"
          type="url"
          required
          maxLength={2048}
          autoComplete="off"
          defaultValue={endpoint?.url ?? ''}
          hint="A public http or https address."
        />
        <TextField
          label="Description"
          name="description"
          maxLength={500}
          autoComplete="off"
          defaultValue={endpoint?.description ?? ''}
        />
        <EventsField initial={endpoint?.events ?? []} receivesAll={isEverything} setReceivesAll={setEverything} />
      </Form>
    </Dialog>
  );
}
