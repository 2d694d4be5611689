export { backfillMetrics } from './client-pricing/backfill-metrics';
export { computeRunCharge, type PricingModel } from './client-pricing/compute-run-charge';
export { listMetrics, listMetricSteps } from './client-pricing/list-metrics';
export { presentPricingModel, putPricingModel, readPricingModel } from './client-pricing/pricing-models';
export { parsePricingModel } from './client-pricing/parse-pricing-model';
export {
  decideBillingGate,
  billingGateColumnsSql,
  spendingLimitColumnsSql,
  type LimitFacts,
  type GateDecision,
  type GateFacts,
  getBillingMonth,
  readBillingLimits,
} from './usage/billing-gate';
export { readUsage, type UsageOfMonth } from './usage/read-usage';
export { readSpendMetrics } from './usage/measure-spend';
export { listUsage } from './usage/list-usage';
export { readLastReconciliation, reconcileUsageNightly, reconcileUsage } from './usage/reconcile-usage';
export { findUnequalCounters } from './usage/find-unequal-counters';
export { type EndedRun, recordRunUsage } from './usage/record-usage';
export { formatCostsCsv } from './costs/format-costs-csv';
export { computeCostSoFar } from './costs/compute-cost-so-far';
export { refreshCostDays, sweepCostDays } from './costs/refresh-cost-days';
export { rebuildCostDays, verifyCostDays } from './costs/verify-cost-days';
export { bookFreeRuns } from './costs/book-free-runs';
export { listCosts } from './costs/list-costs';
export { readRunCost } from './costs/read-run-cost';
export { findCostRecompute, recomputeCosts, type RecomputeRow, requestCostRecompute } from './costs/recompute-costs';
export { type BookedCost, bookRunCosts } from './costs/book-run-cost';
export {
  listDefaultModelPrices,
  listModelPrices,
  replaceDefaultModelPrices,
  replaceModelPrices,
} from './prices/model-price-lists';
export { type RequestedRuns, reserveRuns } from './usage/reserve-runs';
export { purgeUsage } from './usage/purge-usage';
export { findModelForCaller, openModelForCaller } from './models/open-model';
export {
  checkModelAddress,
  deleteOrganizationModel,
  findOrganizationModel,
  hashModelRevision,
  type OrganizationModelRow,
  putOrganizationModel,
} from './models/organization-model';
export { markLostCalls } from './models/mark-lost-calls';
export type { ModelPurpose, ModelCaller, PaidAnswer, ModelParts } from './models/model-caller';
