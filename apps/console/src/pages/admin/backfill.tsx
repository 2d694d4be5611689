import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type BackfillAnswer, clientPricingBackfill } from '../../api/generated';
import { CheckField, Form, TextField } from '../../ui/form';
import { Panel } from '../../ui/page';
import { toast } from '../../ui/toast';
import { ChargeFacts } from './charge-facts';

/** Computes what one run is charged, from the steps that it reported. */
export function Backfill() {
  const [answer, setAnswer] = useState<BackfillAnswer | null>(null);
  const client = useQueryClient();
  return (
    <div className="flex flex-col gap-4">
      <Panel title="Backfill">
        <Form
          submit="Compute"
          onSubmit={(values) =>
            clientPricingBackfill({
              body: {
                job_id: values.text('job_id'),
                create_default_model: values.flag('create_default_model'),
                force: values.flag('force'),
              },
            })
          }
          onDone={(computed) => {
            setAnswer(computed);
            void client.invalidateQueries({ queryKey: ['billing-metrics'] });
            toast(computed.replaced_existing ? 'The record is replaced.' : 'The record is created.');
          }}
        >
          <TextField label="Run (id)" name="job_id" required autoComplete="off" />
          <CheckField
            label="Give the organization the usual pricing model where it has none"
            name="create_default_model"
            initial={false}
          />
          <CheckField label="Replace the record that the run has" name="force" initial={false} />
        </Form>
      </Panel>
      {answer && (
        <Panel title="Computed">
          <ChargeFacts charge={answer} />
        </Panel>
      )}
    </div>
  );
}
