import { useState } from 'react';
import {
  type BillingMetric,
  type BillingMetricList,
  type BillingMetricStepList,
  clientPricingMetrics,
  clientPricingSteps,
} from '../../api/generated';
import { useCurrentUser } from '../../api/session';
import { useList } from '../../api/use-list';
import { formatCount, formatMoney } from '../../format/format';
import { Time } from '../../format/time';
import { RunLink } from '../../parts/names';
import { Dialog } from '../../ui/dialog';
import { ActionMenu } from '../../ui/menu';
import { Panel } from '../../ui/page';
import { SimpleList } from '../../ui/table/simple-list';
import { ChargeFacts } from './charge-facts';
import { PricingModel } from './pricing-model';

const getBillingRecords = (page: BillingMetricList) => page.metrics;
const getBillingSteps = (page: BillingMetricStepList) => page.steps;

/** Pricing model of the organization, and the billing records of its runs. */
export function Pricing() {
  const { organization } = useCurrentUser();
  const [shown, setShown] = useState<BillingMetric | null>(null);
  const list = useList({
    queryKey: ['billing-metrics', organization.id],
    fetchPage: (page, signal) => clientPricingMetrics({ query: { ...page, organizationId: organization.id }, signal }),
    itemsOf: getBillingRecords,
  });
  return (
    <div className="flex flex-col gap-4">
      <Panel title="Pricing model">
        <PricingModel organizationId={organization.id} />
      </Panel>
      <SimpleList
        title="Billing records"
        list={list}
        empty="No billing records yet. Compute one for a run under Backfill."
        heads={['Computed', 'Run', 'NPIs', 'Claims', 'Repeated', 'Charge', 'Actions']}
        row={(record) => (
          <tr key={record.metric_id} className="tabular-nums">
            <td>
              <Time at={record.computed_at} relative />
            </td>
            <td>
              <RunLink id={record.job_id} />
            </td>
            <td>{formatCount(record.npi_count)}</td>
            <td>{formatCount(record.total_claims)}</td>
            <td>{formatCount(record.duplicates_removed)}</td>
            <td className="font-medium">{formatMoney(record.calculated_charge_usd)}</td>
            <td>
              <ActionMenu
                name={`the record of run ${record.job_id.slice(-8)}`}
                actions={[{ label: 'Show calculation', run: () => setShown(record) }]}
              />
            </td>
          </tr>
        )}
      />
      {shown && (
        <Dialog open onOpenChange={() => setShown(null)} title={`Charge for run ${shown.job_id.slice(-8)}`} wide>
          <ChargeFacts charge={shown} />
          <BillingSteps record={shown} />
        </Dialog>
      )}
    </div>
  );
}

function BillingSteps({ record: { metric_id: id } }: { record: BillingMetric }) {
  const list = useList({
    queryKey: ['billing-metrics', id, 'steps'],
    fetchPage: (page, signal) => clientPricingSteps({ path: { id }, query: page, signal }),
    itemsOf: getBillingSteps,
  });
  return (
    <SimpleList
      title="Steps in the calculation"
      list={list}
      empty="No step of the run was used in the calculation."
      heads={['Step', 'NPI', 'Claim', 'Verdict']}
      row={({ step_order, npi, claim_id, claim_submission_id, verdict }) => (
        <tr key={step_order}>
          <td className="tabular-nums">{step_order}</td>
          <td>
            <bdi>{npi ?? '–'}</bdi>
          </td>
          <td>
            <bdi>{claim_id ?? claim_submission_id ?? '–'}</bdi>
          </td>
          <td>{verdict.replace('_', ' ')}</td>
        </tr>
      )}
    />
  );
}
