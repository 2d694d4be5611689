import { webhookTypes } from '@muster/contracts/words';
import { useState } from 'react';
import { type WebhookEndpoint, webhookEndpointsCreate, webhookEndpointsUpdate } from '../../../api/generated';
import { Dialog } from '../../../ui/dialog';
import { Form, TextField } from '../../../ui/form';
import { toast } from '../../../ui/toast';

type Told = WebhookEndpoint['events'];

interface EndpointFormProps {
  /** Null for a new one. */
  endpoint: WebhookEndpoint | null;
  close: () => void;
  /** With the secret of a new one; null where one was changed. */
  made: (secret: string | null) => void;
}

/** An endpoint’s address, and what it is told of. */
export function EndpointForm({ endpoint, close, made }: EndpointFormProps) {
  const [isEverything, setEverything] = useState(endpoint ? endpoint.events.includes('*') : true);
  return (
    <Dialog open onOpenChange={close} title={endpoint ? 'Change endpoint' : 'New endpoint'}>
      <Form
        submit={endpoint ? 'Save' : 'Create endpoint'}
        onSubmit={async (values): Promise<string | null> => {
          const body = {
            url: values.text('url'),
            description: values.text('description') || null,
            events: (isEverything ? ['*'] : values.all('events')) as Told,
          };
          if (!endpoint) return (await webhookEndpointsCreate({ body })).secret;
          await webhookEndpointsUpdate({ path: { id: endpoint.id }, body });
          return null;
        }}
        onDone={(secret) => {
          made(secret);
          if (endpoint) toast('The endpoint is changed.');
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
          hint="http or https, where others can reach it."
        />
        <TextField
          label="Description"
          name="description"
          maxLength={500}
          autoComplete="off"
          defaultValue={endpoint?.description ?? ''}
        />
        <fieldset className="flex flex-col gap-1.5">
          <legend className="mb-1 font-medium">Told of</legend>
          <label className="flex items-center gap-2">
            <input
              type="checkbox"
              className="size-4 shrink-0"
              checked={isEverything}
              onChange={({ target }) => setEverything(target.checked)}
            />
            Everything
          </label>
          {!isEverything && (
            <div className="grid grid-cols-2 gap-x-3 gap-y-1.5 max-sm:grid-cols-1">
              {webhookTypes.map((type) => (
                <label key={type} className="flex items-center gap-2">
                  <input
                    type="checkbox"
                    name="events"
                    value={type}
                    className="size-4 shrink-0"
                    defaultChecked={endpoint?.events.includes(type) ?? false}
                  />
                  {type}
                </label>
              ))}
            </div>
          )}
        </fieldset>
      </Form>
    </Dialog>
  );
}
