export { actionKinds } from './command/command-kinds';
export { type DeliveryOutcome, type PushFacts, pushColumns } from './command/command-row';
export { encryptSecrets } from './command/sealed-payload';
export { deriveWorkerTrace } from './command/worker-trace';
export { CommandsConfig } from './commands.config';
export { CommandsModule } from './commands.module';
export { type ClaimedCommand, CommandDelivery } from './delivery/command-delivery';
export { CommandPolls } from './delivery/poll-commands';
export { acknowledgeRunsSql, detachStopCommands, releaseMachineAndEndCommand } from './ends/command-of-run';
export { endCommandsOfTerminated } from './ends/end-commands-of-terminated';
export { failOverdueCommands, withdrawAnswerCommands, withdrawCommand } from './ends/fail-commands';
export { type ListedCommand, listCommands, readCommandStatus, readRunScript } from './ends/read-command';
export { acknowledgeCommand, storeCommandOutput, storeCommandResult } from './ends/receive-result';
export { readRunFiles } from './files/read-run-files';
export {
  type FunctionRow,
  createFunction,
  deleteFunction,
  findFunction,
  listFunctions,
  updateFunction,
} from './functions/functions';
export { purgeOldImages } from './imaging/purge-pictures';
export { readCompositeStatus } from './imaging/read-composite';
export { readImagesStatus } from './imaging/read-images-status';
export { recordImagingProgress } from './imaging/record-imaging-progress';
export { requestImagingUploads } from './imaging/request-imaging-uploads';
export { startComposite } from './imaging/start-composite';
export { requireDistinctImages, startImaging } from './imaging/start-imaging';
export { type RecordingRow, findRecording, listRecordings } from './recordings/list-recordings';
export { recoverAgent } from './recovery/recover-agent';
export { applyHandshake, applyHeartbeat } from './reports/apply-machine-reports';
export { composeBuilderCommand } from './requests/builder-command';
export {
  type CommandActionParts,
  attachOrStopRecording,
  deployExtension,
  requireActionField,
  repairWorker,
  startRecording,
} from './requests/command-actions';
export { type NewCommand, issueCommand, issueRunCommand } from './requests/issue-command';
export { runCommand } from './requests/run-command';
export { recordBlockedWakeOnError, requireWakeableAgent, startCommand } from './requests/start-command';
export { startFramesCommand } from './requests/start-frames';
export { waitForCommand } from './requests/wait-for-command';
export { type ArtifactRow, findArtifact, listArtifacts } from './uploads/list-artifacts';
export { presignExtension } from './uploads/presign-extension';
export { enqueueDueRemovals, removeObjects, scheduleObjectRemoval } from './uploads/remove-objects';
export { requestUpload } from './uploads/request-upload';
