import type { Job, JobStatusAnswer, JobStep, RunListItem } from '@muster/contracts';
import {
  isTerminalStatus,
  type JobStatus,
  maskResult,
  maskVariables,
  microsToUsd,
  microsToUsdOrNull,
} from '@muster/contracts';
import type { ObjectStorage } from '@muster/storage';
import { computeJobProgress } from './job-progress';
import type { JobRow } from './job-row';
import type { RunRow } from './list-jobs';
import { presentTarget } from '../placement/target';
import type { StepRow } from './list-steps';

const screenshotSeconds = 3600;

export async function presentJob(row: JobRow, storage: ObjectStorage): Promise<Job> {
  const { waitingReason, waitingSince, startedAt, finishedAt, asking } = row;
  return {
    id: row.id,
    status: row.status,
    cancelling: row.cancelRequestedAt !== null && !isTerminalStatus(row.status),
    stalled: row.stalled,
    workflowId: row.workflowId,
    workflowName: row.workflowName,
    workflowRevision: row.workflowRevision,
    agentId: row.agentId,
    agentName: row.agentName,
    target: presentTarget(row),
    placement:
      row.agentId && row.placedAt
        ? { agentId: row.agentId, why: row.placementWhy ?? '', at: row.placedAt.toISOString() }
        : null,
    scheduleId: row.scheduleId,
    batchId: row.batchId,
    retryOf: row.retryOf,
    attempt: row.attempt,
    priority: row.priority,
    variables: maskVariables(row.variables),
    subject: row.subject,
    maxRetries: row.maxRetries,
    retryDelayMs: row.retryDelayMs,
    maxRuntimeMs: row.maxRuntimeMs,
    maxCostUsd: microsToUsdOrNull(row.maxCostMicros),
    bundle: row.bundle,
    queuedAt: row.queuedAt.toISOString(),
    startedAt: toIsoOrNull(startedAt),
    finishedAt: toIsoOrNull(finishedAt),
    durationMs: startedAt && finishedAt ? finishedAt.getTime() - startedAt.getTime() : null,
    progress: computeJobProgress({ ...row, currentStep: row.stepRunning ?? row.currentStep }),
    waiting:
      waitingReason && waitingSince
        ? { reason: waitingReason, since: waitingSince.toISOString(), detail: row.waitingFor }
        : null,
    asking: asking && {
      ...asking,
      since: new Date(asking.since).toISOString(),
      expiresAt: new Date(asking.expiresAt).toISOString(),
    },
    waitingForPersonSeconds: Math.round(row.waitedForPersonSeconds * 1000) / 1000,
    claims: {
      attempted: row.claimsAttempted,
      eobUploaded: row.claimsEobUploaded,
      noEobFound: row.claimsNoEobFound,
      failed: row.claimsFailed,
    },
    totalCostUsd: microsToUsdOrNull(row.totalCostMicros),
    error: row.error,
    errorCode: row.errorCode,
    incomplete: row.incomplete,
    result: maskResult(row.result, row.sensitiveResults),
    screenshotUrl: await presignScreenshot(row, storage),
  };
}

export async function presentJobStatus(row: JobRow, storage: ObjectStorage): Promise<JobStatusAnswer> {
  const { id, status, error, totalCostMicros, finishedAt } = row;
  const screenshotUrl = await presignScreenshot(row, storage);
  return {
    jobId: id,
    status,
    result: maskResult(row.result, row.sensitiveResults),
    error,
    totalCostUsd: microsToUsdOrNull(totalCostMicros),
    screenshotUrl,
    finishedAt: toIsoOrNull(finishedAt),
  };
}

export function presentStep({ costMicros, ...row }: StepRow): JobStep {
  return {
    ...row,
    startedAt: toIsoOrNull(row.startedAt),
    finishedAt: toIsoOrNull(row.finishedAt),
    costUsd: microsToUsd(costMicros),
  };
}

export function presentRun(row: RunRow): RunListItem {
  return {
    id: row.id,
    status: row.status as JobStatus,
    startedAt: toIsoOrNull(row.startedAt),
    duration: row.durationSeconds,
    totalCost: microsToUsd(row.aiCostMicros),
    totalSteps: row.stepsTotal,
    passedSteps: row.stepsPassed,
    failedSteps: row.stepsFailed,
    error: row.error,
  };
}

/**
 * Returns a presigned URL for the screenshot. Null if there is no screenshot or its URL cannot be signed (interface,
 * section 2).
 */
async function presignScreenshot({ screenshotKey }: JobRow, storage: ObjectStorage): Promise<string | null> {
  if (!screenshotKey) return null;
  return storage.presignGet(screenshotKey, { expiresInSeconds: screenshotSeconds }).catch(() => null);
}

function toIsoOrNull(date: Date | null): string | null {
  return date?.toISOString() ?? null;
}
