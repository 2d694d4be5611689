import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { modelPricesRecompute, modelPricesRecomputeStatus } from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { formatCount } from '../../format/format';
import { ErrorNote } from '../../ui/error-note';
import { Form, TextField } from '../../ui/form';
import { Panel } from '../../ui/page';
import { toast } from '../../ui/toast';

/** Runs that have ended keep their prices, unless they are priced anew. */
export function Recompute() {
  const [id, setId] = useState<string | null>(null);
  return (
    <Panel title="Price ended runs anew">
      <Form
        submit="Price anew"
        onSubmit={(values) => modelPricesRecompute({ body: { from: values.text('from'), to: values.text('to') } })}
        onDone={({ recomputeId }) => {
          setId(recomputeId);
          toast('It is under way.');
        }}
      >
        <p className="text-dim">By the prices as they are now; a price holds from the day that it names.</p>
        <div className="grid gap-3 sm:grid-cols-2">
          <TextField label="From" name="from" type="date" required />
          <TextField label="To" name="to" type="date" required />
        </div>
      </Form>
      {id && <Progress id={id} />}
    </Panel>
  );
}

function Progress({ id }: { id: string }) {
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
      {data.status === 'done' ? 'Done' : 'Under way'}: {formatCount(data.runs)} runs priced anew,{' '}
      {formatCount(data.changed)} of them cost another amount now.
    </p>
  );
}
