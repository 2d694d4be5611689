export {
  canLaunchRuns,
  gateColumns,
  type GateDecision,
  type GateFacts,
  monthOf,
  readGateFacts,
  requireOpenGate,
} from './billing-gate';
export { readUsage, type UsageOfMonth } from './read-usage';
export { type CounterFault, unequalCounters } from './reconcile-usage';
export { type EndedRun, recordRuns } from './record-usage';
export { costOf, type RunCost, settleRunCost } from './run-cost';
