import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { isApiError } from '../../api/api-error';
import { type ClientPricingModel, clientPricingModel, clientPricingSetModel } from '../../api/generated';
import { ErrorNote } from '../../ui/error-note';
import { Form, SelectField, TextField } from '../../ui/form';
import { Skeleton } from '../../ui/page';
import { toast } from '../../ui/toast';

type PricingType = ClientPricingModel['pricingType'];
const kinds: { value: PricingType; label: string }[] = [
  { value: 'npi_claim_block', label: 'npi_claim_block: begun blocks of claims, for each NPI' },
  { value: 'per_claim', label: 'per_claim: each claim' },
  { value: 'flat_per_run', label: 'flat_per_run: each run' },
];
/** What an organization without a model begins with. */
const usual: ClientPricingModel = { pricingType: 'npi_claim_block', blockSize: 50, pricePerBlockUsd: 25 };

/** How an organization's runs are charged. */
export function PricingModel({ organizationId, done }: { organizationId: string; done?: () => void }) {
  const queryKey = ['client-pricing', organizationId];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      try {
        return await clientPricingModel({ path: { organizationId }, signal });
      } catch (refused) {
        if (isApiError(refused, 'pricing_model_missing', 'not_found')) return null;
        throw refused;
      }
    },
  });
  // What is being typed stays, also where it could not be asked for again.
  if (data === undefined) return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton />;
  return <ModelForm organizationId={organizationId} model={data} done={done} />;
}

interface ModelFormProps {
  organizationId: string;
  model: ClientPricingModel | null;
  done?: () => void;
}

function ModelForm({ organizationId, model, done }: ModelFormProps) {
  const given = model ?? usual;
  const [pricingType, setPricingType] = useState(given.pricingType);
  const client = useQueryClient();
  return (
    <Form
      submit="Save"
      onSubmit={(values) => {
        const number = (name: string) => values.number(name) ?? undefined;
        const prices: Record<PricingType, Partial<ClientPricingModel>> = {
          npi_claim_block: { blockSize: number('blockSize'), pricePerBlockUsd: number('pricePerBlockUsd') },
          per_claim: { pricePerClaimUsd: number('pricePerClaimUsd') },
          flat_per_run: { pricePerRunUsd: number('pricePerRunUsd') },
        };
        return clientPricingSetModel({
          path: { organizationId },
          body: { pricingType, ...prices[pricingType], minimumUsd: number('minimumUsd') },
        });
      }}
      onDone={(saved) => {
        client.setQueryData(['client-pricing', organizationId], saved);
        toast('Saved. Records that were computed before keep their model.');
        done?.();
      }}
    >
      {!model && <p className="text-dim">It has no pricing model yet; this is the usual one.</p>}
      <SelectField
        label="Pricing type"
        name="pricingType"
        options={kinds}
        value={pricingType}
        onChange={({ target }) => setPricingType(target.value as PricingType)}
      />
      {pricingType === 'npi_claim_block' && (
        <>
          <TextField
            label="Claims in a block"
            name="blockSize"
            type="number"
            min={1}
            required
            defaultValue={given.blockSize ?? usual.blockSize}
          />
          <Price label="Price of a block (USD)" name="pricePerBlockUsd" value={given.pricePerBlockUsd} />
        </>
      )}
      {pricingType === 'per_claim' && (
        <Price label="Price of a claim (USD)" name="pricePerClaimUsd" value={given.pricePerClaimUsd} />
      )}
      {pricingType === 'flat_per_run' && (
        <Price label="Price of a run (USD)" name="pricePerRunUsd" value={given.pricePerRunUsd} />
      )}
      <Price label="Least that a run is charged (USD)" name="minimumUsd" value={given.minimumUsd ?? 0} />
    </Form>
  );
}

function Price({ label, name, value }: { label: string; name: string; value: number | undefined }) {
  return <TextField label={label} name={name} type="number" min={0} step="any" required defaultValue={value} />;
}
