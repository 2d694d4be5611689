export {
  markActiveSql,
  markActivity,
  recordCommandActivity,
  recordWorkSql,
  runEnded,
  setIdleExempt,
} from './activity/activity';
export {
  assignJobsSql,
  finishCleanup,
  markDispatchSweptSql,
  releaseJobSql,
  releaseJobsSql,
  startCleanup,
} from './activity/machine-of-job';
export { type AgentBusy, assignAgentToSession, releaseSession } from './activity/machine-of-session';
export { addIdleGap } from './idle/choose-idle-limit';
export { type IdleDecision, type IdleFacts, decideIdleStop } from './idle/decide-idle-stop';
export { type ExpectedRun, type FindExpectedRun } from './idle/expected-run';
export { learnHabits } from './idle/learn-habits';
export { purgeIdleTimes } from './idle/purge-idle';
export { readIdleSavings } from './idle/read-savings';
export { idleCandidates, idleValues, stopIdleAgents, stopIfIdle } from './idle/stop-idle-agents';
export { type WorkFacts, canWake, inSql, isOff, isOn, mayTakeWork, offStatuses, onStatuses } from './life/agent-life';
export { longestLead, prewakeLead, prewakeLeadMs, prewakeTimeoutMs } from './life/boot-time';
export { decideSilence, failSilentAgents } from './life/fail-silent-agents';
export { type LifecycleFacts, lifecycleEntry, moveAgent } from './life/move-agent';
export {
  type WakeFailures,
  type WakeRequest,
  lastWakeFailures,
  recordWakeBlocked,
  requestWake,
  wakeBackoffMs,
} from './life/wakes';
export { MachinesConfig } from './machines.config';
export { readLiveStatus } from './orders/live-status';
export { LocalAgentRows } from './orders/local-agents';
export { MachineControl } from './orders/machine-control';
export { describeWithin, machineOf } from './orders/machine-of';
export { MachinesModule } from './orders/machines.module';
export { decideWakeStep } from './orders/wake-machine';
export { type TouchedJobs, drainAgent, undrainAgent } from './power/drain';
export { rebootAgent, requireSwitch, startAgent, stopAgent } from './power/power';
export { requireActable } from './power/require-actable';
export { requireOwnMachine } from './power/require-own-machine';
export { terminateAgent } from './power/terminate-agent';
export { requireWoken } from './power/wait-for-wake';
export { Reaper } from './reaper/reaper';
export { ReaperConfig } from './reaper/reaper.config';
export { ReaperModule } from './reaper/reaper.module';
export { type LockedAgent, beginRecovery, recoveryActor } from './recovery/begin-recovery';
export { type RecoveryDecision, type RecoveryStep } from './recovery/decide-recovery';
export { agentKeyOf, deriveKey, issueAgentKey, workerKeysSql } from './registry/agent-keys';
export { type AgentRow, findAgent, loadAgent } from './registry/agent-row';
export { createAgent } from './registry/create-agent';
export { explainAgent } from './registry/explain-agent';
export { agentOrderOf, listAgents } from './registry/list-agents';
export { refusedMachine, requireOwnAgent } from './registry/machine-caller';
export { measureMachines } from './registry/measure-machines';
export { updateAgent } from './registry/update-agent';
export { lacksText, machineCannot, missingParts, needsOf } from './reports/machine-capabilities';
export { type OnReachable, recordHandshake } from './reports/record-handshake';
export { recordHeartbeat } from './reports/record-heartbeat';
export { recordSetupStatus } from './reports/record-setup-status';
export { markTunnelUnreachable, retryTunnel } from './reports/unreachable-tunnel';
