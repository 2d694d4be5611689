import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { isApiError } from '../../api/api-error';
import { type ClientPricingModel, clientPricingModel, clientPricingSetModel } from '../../api/generated';
import { ErrorNote } from '../../ui/error-note';
import { Form, SelectField, TextField } from '../../ui/form';
import { Skeleton } from '../../ui/page';
import { showToast } from '../../ui/toast';

type PricingType = ClientPricingModel['pricingType'];
const kinds: { value: PricingType; label: string }[] = [
  { value: 'npi_claim_block', label: 'Per block of claims of one provider (NPI)' },
  { value: 'per_claim', label: 'Per claim' },
  { value: 'flat_per_run', label: 'Per run' },
];
/** Initial values for an organization that has no pricing model. */
const usual: ClientPricingModel = { pricingType: 'npi_claim_block', blockSize: 50, pricePerBlockUsd: 25 };

/** Form with the pricing model of an organization. */
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
  // If a refetch fails, the form remains on the page, so that typed values are not lost.
  if (data === undefined) return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton />;
  return <ModelForm organizationId={organizationId} model={data} done={done} />;
}

interface ModelFormProps {
  organizationId: string;
  model: ClientPricingModel | null;
  done?: () => void;
}

function ModelForm({ organizationId, model, done }: ModelFormProps) {
  const initial = model ?? usual;
  const [pricingType, setPricingType] = useState(initial.pricingType);
  const client = useQueryClient();
  return (
    <Form
      submit="Save"
      onSubmit={(values) => {
        const readNumber = (name: string) => values.readNumber(name) ?? undefined;
        const prices: Record<PricingType, Partial<ClientPricingModel>> = {
          npi_claim_block: { blockSize: readNumber('blockSize'), pricePerBlockUsd: readNumber('pricePerBlockUsd') },
          per_claim: { pricePerClaimUsd: readNumber('pricePerClaimUsd') },
          flat_per_run: { pricePerRunUsd: readNumber('pricePerRunUsd') },
        };
        return clientPricingSetModel({
          path: { organizationId },
          body: { pricingType, ...prices[pricingType], minimumUsd: readNumber('minimumUsd') },
        });
      }}
      onDone={(saved) => {
        client.setQueryData(['client-pricing', organizationId], saved);
        showToast('Saved. Existing billing records do not change.');
        done?.();
      }}
    >
      {!model && <p className="text-dim">The organization has no pricing model yet. These are the default values.</p>}
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
            label="Claims per block"
            name="blockSize"
            type="number"
            min={1}
            required
            defaultValue={initial.blockSize ?? usual.blockSize}
          />
          <PriceField label="Price per block (USD)" name="pricePerBlockUsd" value={initial.pricePerBlockUsd} />
        </>
      )}
      {pricingType === 'per_claim' && (
        <PriceField label="Price per claim (USD)" name="pricePerClaimUsd" value={initial.pricePerClaimUsd} />
      )}
      {pricingType === 'flat_per_run' && (
        <PriceField label="Price per run (USD)" name="pricePerRunUsd" value={initial.pricePerRunUsd} />
      )}
      <PriceField label="Minimum charge per run (USD)" name="minimumUsd" value={initial.minimumUsd ?? 0} />
    </Form>
  );
}

function PriceField({ label, name, value }: { label: string; name: string; value: number | undefined }) {
  return <TextField label={label} name={name} type="number" min={0} step="any" required defaultValue={value} />;
}
