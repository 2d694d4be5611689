import { type ClaimOutcome, type PilotBatch, type PilotBatchDetail, microsToUsd } from '@muster/contracts';
import type { BatchRow, FoundBatch } from '@muster/pilot';

export function presentPilotBatch(row: BatchRow): PilotBatch {
  return {
    batchId: row.batchId,
    jobId: row.jobId,
    workerKey: row.workerKey,
    startedAt: row.startedAt?.toISOString() ?? null,
    finishedAt: row.finishedAt?.toISOString() ?? null,
    ingestedAt: row.ingestedAt.toISOString(),
    claims: presentClaimCounts(row),
    processingSeconds: microsToSeconds(row.processingMicros),
    totalCostUsd: row.totalCostMicros === null ? null : microsToUsd(row.totalCostMicros),
    stopEvents: row.stopEvents,
  };
}

export function presentPilotBatchDetail({ batch, claims, stops }: FoundBatch): PilotBatchDetail {
  return {
    ...presentPilotBatch(batch),
    totals: batch.totals,
    metadata: batch.metadata,
    claimResults: claims.map(({ claimIndex, outcome, processingMicros, metadata, ...row }) => ({
      ...row,
      index: claimIndex,
      outcome: outcome as ClaimOutcome,
      processingSeconds: microsToSeconds(processingMicros),
      ...(metadata ? { metadata } : {}),
    })),
    stopEvents: stops.map(({ at, metadata, ...row }) => ({
      ...row,
      at: at.toISOString(),
      ...(metadata ? { metadata } : {}),
    })),
  };
}

export function presentClaimCounts(
  row: Pick<BatchRow, 'claimsAttempted' | 'claimsEobUploaded' | 'claimsNoEobFound' | 'claimsFailed'>,
) {
  return {
    attempted: row.claimsAttempted,
    eobUploaded: row.claimsEobUploaded,
    noEobFound: row.claimsNoEobFound,
    failed: row.claimsFailed,
  };
}

function microsToSeconds(micros: number | null): number | null {
  return micros === null ? null : micros / 1_000_000;
}
