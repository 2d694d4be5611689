export {
  markAgentActiveSql,
  recordClientActivity,
  recordCommandActivity,
  recordWorkSql,
  runEnded,
  setIdleExempt,
} from './activity/activity';
export {
  assignJobsToMachinesSql,
  finishMachineCleanup,
  markAgentsSweptSql,
  releaseMachineOfJobSql,
  releaseMachinesOfJobsSql,
  startMachineCleanup,
} from './activity/machine-of-job';
export { type AgentBusy, assignAgentToSession, releaseAgentOfSession } from './activity/machine-of-session';
export { addIdleGap } from './idle/choose-idle-limit';
export { type IdleDecision, type IdleFacts, decideIdleStop } from './idle/decide-idle-stop';
export { type ExpectedRun, type FindExpectedRun } from './idle/expected-run';
export { learnIdleHabits } from './idle/learn-idle-habits';
export { purgeIdleTimes } from './idle/purge-idle';
export { readMachineTime } from './idle/read-machine-time';
export { readIdleSavings } from './idle/read-savings';
export { idleCandidates, buildIdleCandidateValues, stopIdleAgents, stopIfIdle } from './idle/stop-idle-agents';
export {
  type WorkFacts,
  canWakeFrom,
  statusListSql,
  isOffStatus,
  isOnStatus,
  decideWorkAnswer,
  offStatuses,
  onStatuses,
} from './life/agent-life';
export { longestLead, prewakeLead, computePrewakeLeadMs, computePrewakeTimeoutMs } from './life/boot-time';
export { explainSilence, failSilentAgents, silentAgentsSql } from './life/fail-silent-agents';
export { type LifecycleFacts, buildLifecycleEntry, setAgentStatus } from './life/set-agent-status';
export {
  type WakeFailures,
  type WakeRequest,
  readLastWakeFailures,
  recordWakeBlocked,
  requestWake,
  getWakeDelayMs,
} from './life/wakes';
export { MachinesConfig } from './machines.config';
export { readLiveStatus } from './orders/live-status';
export { LocalAgentRows } from './orders/local-agents';
export { MachineControl } from './orders/machine-control';
export { describeMachineWithinLimit, toProviderMachine } from './orders/machine-of';
export { MachinesModule } from './orders/machines.module';
export { decideWakeStep } from './orders/wake-machine';
export { type TouchedJobs, drainAgent, undrainAgent } from './power/drain';
export { rebootAgent, requireSwitchableMachine, startAgent, stopAgent } from './power/power';
export { requirePossibleMachineAction } from './power/require-action-possible';
export { requireOwnMachine } from './power/require-own-machine';
export { terminateAgent } from './power/terminate-agent';
export { waitUntilOnlineOrThrow } from './power/wait-for-wake';
export { Reaper } from './reaper/reaper';
export { ReaperConfig } from './reaper/reaper.config';
export { ReaperModule } from './reaper/reaper.module';
export { type LockedAgent, startRecovery, createRecoveryActor } from './recovery/start-recovery';
export { type RecoveryDecision, type RecoveryStep } from './recovery/decide-recovery';
export { deriveAgentKey, deriveMatchingKey, issueAgentKey, workerKeysSql } from './registry/agent-keys';
export { type AgentRow, findAgent, loadAgent } from './registry/agent-row';
export { createAgent } from './registry/create-agent';
export { explainAgent } from './registry/explain-agent';
export { parseAgentOrder, listAgents } from './registry/list-agents';
export { machineRefusedError, requireOwnAgent } from './registry/machine-caller';
export { readMachineMetrics } from './registry/measure-machines';
export { updateAgent } from './registry/update-agent';
export {
  describeMissingParts,
  missingPartsError,
  listMissingParts,
  listNeededParts,
} from './reports/machine-capabilities';
export { type OnReachable, recordHandshake } from './reports/record-handshake';
export { recordHeartbeat } from './reports/record-heartbeat';
export { recordSetupStatus } from './reports/record-setup-status';
export { markTunnelUnreachable, retryUnreachableTunnel } from './reports/unreachable-tunnel';
