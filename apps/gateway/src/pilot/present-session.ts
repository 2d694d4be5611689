import type { ClaimOutcome, LibrarySession, SessionEntry, SessionEntryKind } from '@muster/contracts';
import type { SessionEntryRow, SessionRow } from '@muster/pilot';
import { presentClaimCounts } from './present-pilot-batch';

export function presentSession(row: SessionRow): LibrarySession {
  return {
    batchId: row.batchId,
    jobId: row.jobId,
    workerKey: row.workerKey,
    startedAt: row.startedAt?.toISOString() ?? null,
    finishedAt: row.finishedAt?.toISOString() ?? null,
    durationSeconds: row.durationMs === null ? null : row.durationMs / 1000,
    claims: presentClaimCounts(row),
    stopReason: row.stopReason,
    headline: row.headline,
  };
}

export function presentSessionEntry({ at, kind, claimId, outcome, reason, text }: SessionEntryRow): SessionEntry {
  return {
    at: at.toISOString(),
    kind: kind as SessionEntryKind,
    ...(claimId === null ? {} : { claimId }),
    ...(outcome === null ? {} : { outcome: outcome as ClaimOutcome }),
    ...(reason === null ? {} : { reason }),
    text,
  };
}
