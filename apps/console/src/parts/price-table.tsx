import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ModelPrice, ModelPriceInput, ModelPriceList } from '../api/generated';
import type { Versioned } from '../api/versioned';
import { formatMoney } from '../format/format';
import { Button } from '../ui/button';
import { useVersionedSave } from '../ui/conflict';
import { ConfirmDialog, Dialog } from '../ui/dialog';
import { ErrorNote } from '../ui/error-note';
import { Form, TextField } from '../ui/form';
import { ActionMenu } from '../ui/menu';
import { EmptyNote, Panel, Skeleton } from '../ui/page';
import { showToast } from '../ui/toast';
import { PlainTable } from '../ui/table/plain-table';

/** The editable prices of the list, which are replaced together. */
interface OwnPrices {
  prices: ModelPriceInput[];
}

interface PriceTableProps {
  title: string;
  queryKey: string[];
  read: (signal: AbortSignal) => Promise<Versioned<ModelPriceList>>;
  /** Replaces all editable prices with these. */
  replace: (prices: ModelPriceInput[], ifMatch: string) => Promise<Versioned<ModelPriceList>>;
  /** Source of the prices that the user may change; null if none. */
  editable: ModelPrice['source'] | null;
}

/** Prices of language models in US dollars per million tokens, each with the day from which it applies. */
export function PriceTable({ title, queryKey, read, replace, editable }: PriceTableProps) {
  const [writing, setWriting] = useState<ModelPrice | 'new' | null>(null);
  const [leaving, setLeaving] = useState<ModelPrice | null>(null);
  const client = useQueryClient();
  const query = { queryKey, queryFn: ({ signal }: { signal: AbortSignal }) => read(signal) };
  const { data, error, refetch } = useQuery(query);
  const selectOwnPrices = ({ prices, etag }: Versioned<ModelPriceList>): Versioned<OwnPrices> => ({
    prices: prices.filter(({ source }) => source === editable).map(toPriceInput),
    etag,
  });
  const { save, conflict } = useVersionedSave<OwnPrices, OwnPrices>({
    read: async () => selectOwnPrices(await client.fetchQuery({ ...query, staleTime: 0 })),
    write: async ({ prices }, ifMatch) => {
      const list = await replace(prices, ifMatch);
      client.setQueryData(queryKey, list);
      return selectOwnPrices(list);
    },
    labels: { prices: 'Prices' },
    show: (prices) => (prices as ModelPriceInput[]).map(describePrice).join('\n') || 'none',
  });
  const own = (data?.prices ?? []).filter(({ source }) => source === editable);
  const savePrices = async (prices: (ModelPrice | ModelPriceInput)[]) => {
    const { isMine } = await save({ prices: prices.map(toPriceInput) }, selectOwnPrices(data!));
    return isMine ? undefined : 'Your change was discarded.';
  };
  const removePrice = (price: ModelPrice | 'new' | null) => own.filter((each) => each !== price);
  return (
    <Panel
      title={title}
      actions={
        editable && (
          <Button look="primary" onClick={() => setWriting('new')}>
            New price
          </Button>
        )
      }
    >
      {error && <ErrorNote error={error} retry={() => void refetch()} />}
      {!data && !error && <Skeleton />}
      {data?.prices.length === 0 && (
        <EmptyNote title="No prices yet. If a model has no price, the cost that the run itself reports is used." />
      )}
      {data && data.prices.length > 0 && (
        <PlainTable
          label={title}
          heads={['Provider', 'Model', 'Input', 'Output', 'From', 'Source', ...(editable ? ['Actions'] : [])]}
        >
          {data.prices.map((price) => (
            <tr key={`${price.source} ${price.provider} ${price.model} ${price.from}`}>
              <td>
                <bdi>{price.provider}</bdi>
              </td>
              <td>
                <bdi>{price.model}</bdi>
              </td>
              <td className="tabular-nums">{formatMoney(price.inputUsdPerMillion)}</td>
              <td className="tabular-nums">{formatMoney(price.outputUsdPerMillion)}</td>
              <td className="whitespace-nowrap">{price.from}</td>
              <td>{price.source}</td>
              {editable && (
                <td>
                  {price.source === editable && (
                    <ActionMenu
                      name={`${price.provider} ${price.model}`}
                      actions={[
                        { label: 'Change', run: () => setWriting(price) },
                        { label: 'Remove', danger: true, run: () => setLeaving(price) },
                      ]}
                    />
                  )}
                </td>
              )}
            </tr>
          ))}
        </PlainTable>
      )}
      <Dialog
        open={writing !== null}
        onOpenChange={() => setWriting(null)}
        title={writing === 'new' ? 'New price' : 'Change price'}
        description="In US dollars per million tokens. The costs of ended runs do not change."
      >
        <PriceForm
          initial={writing === 'new' ? null : writing}
          save={(price) => savePrices([...removePrice(writing), price])}
          done={(otherwise = 'Saved.') => {
            setWriting(null);
            showToast(otherwise);
          }}
        />
      </Dialog>
      {leaving && (
        <ConfirmDialog
          open
          onOpenChange={() => setLeaving(null)}
          title={`Remove the price of ${leaving.model}?`}
          verb="Remove"
          act={async () => {
            showToast((await savePrices(removePrice(leaving))) ?? 'The price is removed.');
          }}
        >
          From now on, an earlier or a default price of this model applies. If there is none, the model has no price.
        </ConfirmDialog>
      )}
      {conflict}
    </Panel>
  );
}

interface PriceFormProps {
  initial: ModelPrice | null;
  /** Saves the price. Resolves to an error message if the price was not saved, otherwise to undefined. */
  save: (price: ModelPriceInput) => Promise<string | undefined>;
  done: (otherwise?: string) => void;
}

function PriceForm({ initial, save, done }: PriceFormProps) {
  return (
    <Form
      submit="Save"
      onSubmit={(values) =>
        save({
          provider: values.readText('provider'),
          model: values.readText('model'),
          inputUsdPerMillion: values.readNumber('inputUsdPerMillion') ?? 0,
          outputUsdPerMillion: values.readNumber('outputUsdPerMillion') ?? 0,
          from: values.readText('from'),
        })
      }
      onDone={done}
    >
      <TextField label="Provider" name="provider" required maxLength={100} defaultValue={initial?.provider} />
      <TextField label="Model" name="model" required maxLength={200} defaultValue={initial?.model} />
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField
          label="Input ($)"
          name="inputUsdPerMillion"
          type="number"
          min={0}
          step="any"
          required
          defaultValue={initial?.inputUsdPerMillion}
        />
        <TextField
          label="Output ($)"
          name="outputUsdPerMillion"
          type="number"
          min={0}
          step="any"
          required
          defaultValue={initial?.outputUsdPerMillion}
        />
      </div>
      <TextField
        label="From"
        name="from"
        type="date"
        required
        defaultValue={initial?.from ?? new Date().toISOString().slice(0, 10)}
        hint="The price applies from the start of this day in UTC."
      />
    </Form>
  );
}

function toPriceInput(price: ModelPrice | ModelPriceInput): ModelPriceInput {
  const { provider, model, inputUsdPerMillion, outputUsdPerMillion, from } = price;
  return { provider, model, inputUsdPerMillion, outputUsdPerMillion, from };
}

function describePrice({ provider, model, inputUsdPerMillion, outputUsdPerMillion, from }: ModelPriceInput): string {
  return `${provider} ${model} from ${from}: ${formatMoney(inputUsdPerMillion)} in, ${formatMoney(outputUsdPerMillion)} out`;
}
