export { backfillMetrics } from './client-pricing/backfill-metrics';
export { chargeRun, type PricingModel } from './client-pricing/charge-run';
export { listMetrics, listMetricSteps } from './client-pricing/list-metrics';
export { presentPricingModel, putPricingModel, readPricingModel } from './client-pricing/pricing-models';
export { readModel } from './client-pricing/read-model';
export {
  canLaunchRuns,
  gateColumnsSql,
  limitColumns,
  type LimitFacts,
  type GateDecision,
  type GateFacts,
  monthOf,
  readLimits,
} from './usage/billing-gate';
export { readUsage, type UsageOfMonth } from './usage/read-usage';
export { measureMoney } from './usage/measure-money';
export { listUsage } from './usage/list-usage';
export { lastReconciliation, reconcileNightly, reconcileUsage } from './usage/reconcile-usage';
export { unequalCounters } from './usage/unequal-counters';
export { type EndedRun, recordRuns } from './usage/record-usage';
export { costsCsv } from './costs/costs-csv';
export { costSoFar } from './costs/cost-so-far';
export { refreshCostDays, sweepCostDays } from './costs/refresh-cost-days';
export { rebuildCostDays, verifyCostDays } from './costs/verify-cost-days';
export { bookFreeRuns } from './costs/book-free-runs';
export { listCosts } from './costs/list-costs';
export { readRunCost } from './costs/read-run-cost';
export { findRecompute, recomputeCosts, type RecomputeRow, requestRecompute } from './costs/recompute-costs';
export { type BookedCost, bookRunCosts } from './costs/book-run-cost';
export {
  listDefaultModelPrices,
  listModelPrices,
  replaceDefaultModelPrices,
  replaceModelPrices,
} from './prices/model-price-lists';
export { type RequestedRuns, reserveRuns } from './usage/reserve-runs';
export { purgeUsage } from './usage/purge-usage';
export { findModel, openModel } from './models/open-model';
export {
  checkModelAddress,
  deleteOrganizationModel,
  findOrganizationModel,
  modelRevision,
  type OrganizationModelRow,
  putOrganizationModel,
} from './models/organization-model';
export { markLostCalls } from './models/mark-lost-calls';
export type { ModelPurpose, ModelCaller, PaidAnswer, ModelParts } from './models/model-caller';
