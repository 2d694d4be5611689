import { modelPricesOwn, modelPricesReplaceOwn } from '../../api/generated';
import { useMay } from '../../api/session';
import { withEtag } from '../../api/versioned';
import { PriceTable } from '../../parts/price-table';
import { Recompute } from './recompute';

/** Prices of language models. The organization's own prices take precedence over the default prices. */
export function Prices() {
  const isAdmin = useMay('admin');
  return (
    <div className="flex flex-col gap-4">
      <PriceTable
        title="Prices"
        queryKey={['model-prices']}
        read={(signal) => withEtag((options) => modelPricesOwn({ ...options, signal }))}
        replace={(prices, ifMatch) =>
          withEtag((options) =>
            modelPricesReplaceOwn({ ...options, body: { prices }, headers: { 'If-Match': ifMatch } }),
          )
        }
        editable={isAdmin ? 'organization' : null}
      />
      {isAdmin && <Recompute />}
    </div>
  );
}
