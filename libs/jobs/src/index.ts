export { performAgentAction } from './actions/perform-agent-action';
export { drainAgentAndRuns, terminateAgentAndRuns } from './actions/switch-agent';
export { appendJobLogs } from './reports/append-job-logs';
export { applyClaimResults, type ClaimCounts } from './reports/apply-claim-results';
export { maskSensitiveClaims } from './reports/mask-claims';
export { applyJobReport, type ReportAnswer } from './reports/apply-job-report';
export { applyStepStatus } from './reports/apply-step-status';
export { cancelBatch, requestBatchCancel } from './batches/cancel-batch';
export { type Cells, type InputRow } from './batches/check-batch-row';
export { type BatchInput, checkRowsOfBatch, type CheckInput, launchBatch } from './batches/launch-batch';
export { readCsv } from './batches/read-csv';
export { presentBatch } from './batches/present-batch';
export { findBatch, getBatchSortKinds, listBatches } from './batches/read-batches';
export { cancelJob, type CancelOutcome } from './ends/cancel-job';
export { type CancelCounts, cancelJobs } from './ends/cancel-jobs';
export { applyStopResult } from './ends/apply-stop-result';
export { deleteJob } from './deletion/delete-job';
export { Dispatch, type StartOutcome } from './dispatch/dispatch';
export { DispatchConfig } from './dispatch/dispatch.config';
export { escalateCancels } from './ends/escalate-cancels';
export { failStaleJobs, type StaleReport, staleRunsSql, untouchedJobsSql } from './ends/fail-stale-jobs';
export { decideStaleJob } from './ends/decide-stale-job';
export { findBusyKeysAndPools } from './placement/find-guards';
export {
  decideWakesAhead,
  decideWakesForRuns,
  lockWakesOfOrganization,
  type Reserved,
} from './placement/wakes-of-runs';
export { decidePlacement } from './dispatch/decide-placement';
export { decideMachineWakes, type WakeFacts } from './dispatch/decide-wakes';
export { previewPlacement } from './placement/preview-placement';
export { presentTarget, requireAgentOrTarget, requireFittingAgent, toTargetColumns } from './placement/target';
export { placeJob, type PlacementParts } from './placement/place-job';
export { placeJobsOfOrganization, sweepPlacements } from './placement/sweep-placements';
export { decideJobStart } from './dispatch/decide-start';
export { computeRetryDelayMs } from './ends/retry-delay';
export { findJob, type JobRow, findJobOwner } from './lists/job-row';
export { JobsModule } from './jobs.module';
export { computeJobProgress } from './lists/job-progress';
export { launchJob, type LaunchInput, requireVaultKeyNames, requireWorkflowVariables } from './launch/launch-job';
export { exportJobs } from './lists/export-jobs';
export { listAgentRuns, listJobs, getSortKinds } from './lists/list-jobs';
export { groupFailures } from './lists/group-failures';
export { listSteps } from './lists/list-steps';
export { readRunMetrics } from './lists/measure-runs';
export { readActivity } from './lists/read-activity';
export {
  findQuestionByAnswerLink,
  isInAudienceOfQuestion,
  presentLinkedQuestion,
  signAnswerLink,
} from './questions/answer-links';
export {
  toAnswerer,
  type Answerer,
  answerQuestionByResuming,
  answerQuestion,
  declineQuestion,
} from './questions/answer-question';
export type { FormField } from './questions/check-answer';
export { askQuestion } from './questions/ask-question';
export { awaitAnswer } from './questions/await-answer';
export { giveTotpToRun } from './questions/give-totp-to-run';
export { repairLeakedLeases } from './dispatch/repair-leases';
export {
  deleteConcurrencyLimit,
  listConcurrencyKeys,
  listKeyHolders,
  setConcurrencyLimit,
} from './lists/concurrency-keys';
export { findAccount, listAccounts, listAccountUses, presentAccount } from './accounts/account-row';
export { enqueueJobsWithFreeAccounts } from './accounts/borrow-accounts';
export { setAsideAccountOfRun } from './accounts/fail-account';
export { deleteAccount, putAccount, enableAccountsWithKey, updateAccount } from './accounts/save-account';
export { createInboundCode, deleteInboundCode, type InboundCodeRow, listInboundCodes } from './questions/inbound-codes';
export { listMessages } from './questions/list-messages';
export { findCodeInText, type Posted } from './questions/parse-inbound-message';
export { purgeInboundMessages, receiveInboundMessage } from './questions/receive-inbound-message';
export {
  insertQuestionOfSession,
  closeSessionQuestions,
  findSessionQuestion,
  forgetCodesOfSession,
  readCodeOfSession,
  type SessionQuestion,
} from './questions/session-questions';
export { expireQuestions } from './questions/expire-questions';
export { findQuestion, listQuestions, presentQuestion, type QuestionRow } from './questions/question-row';
export { FrameLimit, ScreenRelay } from './screen/screen-relay';
export { FrameLimits, requireRunOfWorker, serveScreenWorker, relayFrameToViewers } from './screen/serve-worker';
export { auditOpenScreen, auditScreenInput, watchScreen } from './screen/watch-screen';
export { presentJob, presentJobStatus, presentRun, presentStep } from './lists/present-job';
export { revealSealedValues } from './lists/reveal-values';
export { enqueueWaitingAgents } from './dispatch/enqueue-waiting-agents';
export { replayJob } from './launch/replay-job';
export { bookJobCost, bookJobCosts } from './ends/book-job-cost';
export { cancelJobsOfStoppedAgent } from './ends/cancel-jobs-of-stopped-agent';
export { sweepDispatch } from './dispatch/sweep-dispatch';
export { failRunIfOverBudget, failRunsOverBudget } from './ends/stop-over-budget';
export { purgeStepsAndClaims } from './reports/purge-reports';
export type { Reporter } from './reports/reporter';
