export {
  canLaunchRuns,
  gateColumns,
  type GateDecision,
  type GateFacts,
  monthOf,
  readGateFacts,
  requireOpenGate,
} from './usage/billing-gate';
export { readUsage, type UsageOfMonth } from './usage/read-usage';
export { type CounterFault, unequalCounters } from './usage/reconcile-usage';
export { type EndedRun, recordRuns } from './usage/record-usage';
export { settleRunCost } from './costs/settle-run-cost';
