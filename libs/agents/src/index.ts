export { markActivity, recordWorkSql, setIdleExempt } from './actions/activity';
export { drainAgent, type TouchedJobs, undrainAgent } from './actions/drain';
export {
  type CommandActionParts,
  deployExtension,
  needed,
  attachOrStopRecording,
  repairWorker,
  startRecording,
} from './actions/command-actions';
export { rebootAgent, requireSwitch, startAgent, stopAgent } from './actions/power';
export { requireOwnMachine } from './actions/require-own-machine';
export { requireActable } from './actions/require-actable';
export { runCommand } from './actions/run-command';
export { waitForCommand } from './actions/wait-for-command';
export { requireWoken } from './actions/wait-for-wake';
export { readRunFiles } from './files/read-run-files';
export { agentKeyOf, issueAgentKey } from './agent-keys';
export { AgentsConfig } from './agents.config';
export { type AgentRow, findAgent, loadAgent } from './registry/agent-row';
export { createAgent } from './registry/create-agent';
export { explainAgent } from './registry/explain-agent';
export { agentOrderOf, listAgents } from './registry/list-agents';
export { measureMachines } from './registry/measure-machines';
export { readLiveStatus } from './orders/live-status';
export { terminateAgent } from './actions/terminate-agent';
export { applyHandshake, applyHeartbeat } from './delivery/apply-machine-reports';
export { endCommandsOfTerminated } from './commands/end-commands-of-terminated';
export { updateAgent } from './registry/update-agent';
export { AgentsModule } from './agents.module';
export { type ClaimedCommand, CommandDelivery } from './delivery/command-delivery';
export { pushColumns, type PushFacts, type DeliveryOutcome } from './commands/command-row';
export { acknowledgeRunSql, detachStopCommands, releaseMachine } from './commands/command-of-run';
export { failOverdueCommands, withdrawAnswers, withdrawCommand } from './commands/fail-commands';
export { composeBuilderCommand } from './commands/builder-command';
export { CommandPolls } from './delivery/poll-commands';
export { listCommands, type ListedCommand, readCommandStatus, readScript } from './commands/read-command';
export { acknowledgeCommand, receiveOutput, receiveResult } from './commands/receive-result';
export { readCompositeStatus } from './imaging/read-composite';
export { startComposite } from './imaging/start-composite';
export { workerTrace } from './traces/worker-trace';
export { issueCommand, issueRun, type NewCommand } from './commands/issue-command';
export { sealPayload } from './commands/sealed-payload';
export { actionKinds } from './commands/record-actions';
export { longestLead, prewakeLead, prewakeLeadMs, prewakeTimeoutMs } from './lifecycle/boot-time';
export type { ExpectedRun, FindExpectedRun } from './lifecycle/expected-run';
export { addIdleGap } from './habits/choose-idle-limit';
export { learnHabits } from './habits/learn-habits';
export { purgeIdleTimes } from './habits/purge-idle';
export { readIdleSavings } from './habits/read-savings';
export { decideIdleStop, runEnded, type IdleDecision, type IdleFacts } from './lifecycle/decide-idle-stop';
export { decideSilence, failSilentAgents } from './lifecycle/fail-silent-agents';
export { idleCandidates, idleValues, stopIdleAgents, stopIfIdle } from './lifecycle/stop-idle-agents';
export { LocalAgentRows } from './orders/local-agents';
export { MachineControl } from './orders/machine-control';
export { describeWithin, machineOf } from './orders/machine-of';
export { decideWakeStep } from './orders/wake-machine';
export { MachinesModule } from './orders/machines.module';
export { canWake, inSql, isOff, isOn, mayTakeWork, offStatuses, onStatuses } from './lifecycle/agent-life';
export { lifecycleEntry, type LifecycleFacts, moveAgent } from './lifecycle/move-agent';
export {
  lastWakeFailures,
  recordWakeBlocked,
  requestWake,
  wakeBackoffMs,
  type WakeFailures,
  type WakeRequest,
} from './lifecycle/wakes';
export { lacksText, missingParts, needsOf } from './reports/machine-capabilities';
export { explainingBlocked, requireWakeable, startCommand } from './commands/start-command';
export {
  createFunction,
  deleteFunction,
  findFunction,
  type FunctionRow,
  listFunctions,
  updateFunction,
} from './functions/functions';
export { requireOwnAgent } from './registry/machine-caller';
export { recordSetupStatus } from './reports/record-setup-status';
export { Reaper } from './reaper/reaper';
export { ReaperConfig } from './reaper/reaper.config';
export { ReaperModule } from './reaper/reaper.module';
export { startFramesCommand } from './recordings/start-frames';
export { findRecording, listRecordings, type RecordingRow } from './recordings/list-recordings';
export { purgePictures } from './imaging/purge-pictures';
export { readImagesStatus } from './imaging/read-images-status';
export { reportProgress } from './imaging/report-progress';
export { requestImagingUploads } from './imaging/request-imaging-uploads';
export { requireDistinct, startImaging } from './imaging/start-imaging';
export { type ArtifactRow, findArtifact, listArtifacts } from './uploads/list-artifacts';
export { requestUpload } from './uploads/request-upload';
export { presignExtension } from './extensions/presign-extension';
export { assignJobSql, finishCleanup, markDispatchSweptSql, startCleanup } from './work/machine-of-job';
export { type AgentBusy, assignAgentToSession, releaseSession } from './work/machine-of-session';
export { enqueueDueRemovals, scheduleObjectRemoval, removeObjects } from './uploads/remove-objects';
export { recoverAgent } from './recovery/recover-agent';
