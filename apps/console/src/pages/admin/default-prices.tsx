import { modelPricesDefaults, modelPricesReplaceDefaults } from '../../api/generated';
import { withEtag } from '../../api/versioned';
import { PriceTable } from '../../parts/price-table';

/** Prices of language models for organizations that have not set their own. */
export function DefaultPrices() {
  return (
    <PriceTable
      title="Default prices"
      queryKey={['model-prices', 'default']}
      read={(signal) => withEtag((options) => modelPricesDefaults({ ...options, signal }))}
      replace={(prices, ifMatch) =>
        withEtag((options) =>
          modelPricesReplaceDefaults({ ...options, body: { prices }, headers: { 'If-Match': ifMatch } }),
        )
      }
      editable="default"
    />
  );
}
