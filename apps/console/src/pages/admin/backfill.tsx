import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type BackfillAnswer, clientPricingBackfill } from '../../api/generated';
import { CheckField, Form, TextField } from '../../ui/form';
import { Panel } from '../../ui/page';
import { showToast } from '../../ui/toast';
import { ChargeFacts } from './charge-facts';

/** Computes the charge of one run from the steps that the run reported. */
export function MetricsBackfill() {
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
                job_id: values.readText('job_id'),
                create_default_model: values.readFlag('create_default_model'),
                force: values.readFlag('force'),
              },
            })
          }
          onDone={(computed) => {
            setAnswer(computed);
            void client.invalidateQueries({ queryKey: ['billing-metrics'] });
            showToast(computed.replaced_existing ? 'Billing record replaced.' : 'Billing record created.');
          }}
        >
          <TextField label="Run ID" name="job_id" required autoComplete="off" />
          <CheckField
            label="Create the default pricing model if the organization has none"
            name="create_default_model"
            initial={false}
          />
          <CheckField label="Replace the run’s existing billing record" name="force" initial={false} />
        </Form>
      </Panel>
      {answer && (
        <Panel title="Computed charge">
          <ChargeFacts charge={answer} />
        </Panel>
      )}
    </div>
  );
}
