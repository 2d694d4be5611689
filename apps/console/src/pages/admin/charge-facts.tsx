import type { BackfillAnswer } from '../../api/generated';
import { formatCount, formatMoney } from '../../format/format';
import { FactList } from '../../ui/page';

type Charge = Omit<BackfillAnswer, 'success' | 'replaced_existing'>;

/** Charge of a run, and the counts that it is computed from. */
export function ChargeFacts({ charge }: { charge: Charge }) {
  return (
    <>
      <FactList
        facts={[
          ['Charge', <span className="font-medium">{formatMoney(charge.calculated_charge_usd)}</span>],
          ['Claims', formatCount(charge.total_claims)],
          ['NPIs', formatCount(charge.npi_count)],
          ['Claim steps', formatCount(charge.total_steps_before_dedup)],
          ['Repeated', formatCount(charge.duplicates_removed)],
        ]}
      />
      <details>
        <summary className="text-dim">Breakdown</summary>
        <pre
          tabIndex={0}
          aria-label="Breakdown"
          className="mt-1 max-h-60 overflow-auto rounded-control bg-sunken p-2 font-mono text-xs break-words whitespace-pre-wrap"
        >
          {JSON.stringify(
            { claims_per_npi: charge.claims_per_npi, charge_breakdown: charge.charge_breakdown },
            null,
            2,
          )}
        </pre>
      </details>
    </>
  );
}
