import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { modelPricesRecompute, modelPricesRecomputeStatus } from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { formatCount } from '../../format/format';
import { ErrorNote } from '../../ui/error-note';
import { Form, TextField } from '../../ui/form';
import { Panel } from '../../ui/page';
import { showToast } from '../../ui/toast';

/** Applies the current prices to ended runs, which otherwise keep the prices of their time. */
export function CostRecomputation() {
  const [id, setId] = useState<string | null>(null);
  return (
    <Panel title="Recompute costs of ended runs">
      <Form
        submit="Recompute costs"
        onSubmit={(values) =>
          modelPricesRecompute({ body: { from: values.readText('from'), to: values.readText('to') } })
        }
        onDone={({ recomputeId }) => {
          setId(recomputeId);
          showToast('Recomputing costs.');
        }}
      >
        <p className="text-dim">
          Applies the current prices to runs that ended on these days. Each price applies from its start date.
        </p>
        <div className="grid gap-3 sm:grid-cols-2">
          <TextField label="From" name="from" type="date" required />
          <TextField label="To" name="to" type="date" required />
        </div>
      </Form>
      {id && <RecomputeProgress id={id} />}
    </Panel>
  );
}

function RecomputeProgress({ id }: { id: string }) {
  const client = useQueryClient();
  const { data, error } = useQuery({
    queryKey: ['recompute', id],
    queryFn: async ({ signal }) => {
      const state = await modelPricesRecomputeStatus({ path: { id }, signal });
      if (state.status === 'done') void client.invalidateQueries({ queryKey: ['costs'] });
      return state;
    },
    refetchInterval: ({ state }) => (state.data?.status === 'done' ? false : pollMs),
  });
  if (error) return <ErrorNote error={error} />;
  if (!data) return null;
  return (
    <p role="status" className="mt-3">
      {data.status === 'done' ? 'Done' : 'In progress'}: {formatCount(data.runs)} runs recomputed,{' '}
      {formatCount(data.changed)} of them have a different cost.
    </p>
  );
}
