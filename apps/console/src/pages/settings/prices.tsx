import { modelPricesOwn, modelPricesReplaceOwn } from '../../api/generated';
import { usePermission } from '../../api/session';
import { readWithEtag } from '../../api/versioned';
import { PriceTable } from '../../parts/price-table';
import { CostRecomputation } from './recompute';

/** Prices of language models. The organization's own prices take precedence over the default prices. */
export function ModelPrices() {
  const mayChange = usePermission('pricing.write');
  return (
    <div className="flex flex-col gap-4">
      <PriceTable
        title="Prices"
        queryKey={['model-prices']}
        read={(signal) => readWithEtag((options) => modelPricesOwn({ ...options, signal }))}
        replace={(prices, ifMatch) =>
          readWithEtag((options) =>
            modelPricesReplaceOwn({ ...options, body: { prices }, headers: { 'If-Match': ifMatch } }),
          )
        }
        editable={mayChange ? 'organization' : null}
      />
      {mayChange && <CostRecomputation />}
    </div>
  );
}
