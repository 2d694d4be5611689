import { modelPricesDefaults, modelPricesReplaceDefaults } from '../../api/generated';
import { readWithEtag } from '../../api/versioned';
import { PriceTable } from '../../parts/price-table';

/** Prices of language models for organizations that have not set their own. */
export function DefaultPrices() {
  return (
    <PriceTable
      title="Default prices"
      queryKey={['model-prices', 'default']}
      read={(signal) => readWithEtag((options) => modelPricesDefaults({ ...options, signal }))}
      replace={(prices, ifMatch) =>
        readWithEtag((options) =>
          modelPricesReplaceDefaults({ ...options, body: { prices }, headers: { 'If-Match': ifMatch } }),
        )
      }
      editable="default"
    />
  );
}
