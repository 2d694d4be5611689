import type { PilotBatchEntity, PilotStopEventEntity, Transaction } from '@muster/database';
import { writeSessionHeadline } from './session-headline';
import { type BatchFacts, type TimelineEntry, buildSessionTimeline } from './session-timeline';

const entryBatchSize = 1000;

/**
 * Replaces the summary and the timeline of a batch's session. Returns false if there is nothing to summarize, because
 * the batch was reported again under a new id, or its job was deleted together with the batch's claims.
 */
export async function summarizeSession(tx: Transaction, pilotBatchId: string): Promise<boolean> {
  const [batch] = await tx.query<PilotBatchEntity>(
    `SELECT organization_id, worker_key, started_at,
            finished_at, ingested_at, occurred_at,
            job_id, named_job_id, claims_attempted,
            claims_eob_uploaded, claims_no_eob_found,
            claims_failed
     FROM pilot_batch WHERE id = $1 FOR UPDATE`,
    [pilotBatchId],
  );
  if (!batch || (batch.namedJobId && !batch.jobId)) return false;
  const { organizationId, startedAt, finishedAt, ingestedAt } = batch;
  const claims = await tx.query<BatchFacts['claims'][number]>(
    `SELECT claim_id, outcome, processing_micros
     FROM pilot_claim_result WHERE pilot_batch_id = $1 ORDER BY claim_index`,
    [pilotBatchId],
  );
  const stops = await tx.query<Pick<PilotStopEventEntity, 'reason' | 'at' | 'detail'>>(
    'SELECT reason, at, detail FROM pilot_stop_event WHERE pilot_batch_id = $1 ORDER BY at, event_index',
    [pilotBatchId],
  );
  tx.deferStatement('DELETE FROM process_library_session_timeline WHERE pilot_batch_id = $1', [pilotBatchId]);
  tx.deferStatement('DELETE FROM process_library_session_summary WHERE pilot_batch_id = $1', [pilotBatchId]);
  const timeline = buildSessionTimeline({ startedAt, finishedAt, ingestedAt, claims, stops });
  await insertSessionSummary(tx, { ...batch, id: pilotBatchId }, stops.at(-1)?.reason ?? null);
  for (let from = 0; from < timeline.length; from += entryBatchSize) {
    const entries = timeline.slice(from, from + entryBatchSize);
    await insertSessionEntries(tx, { pilotBatchId, organizationId, entries, from });
  }
  return true;
}

async function insertSessionSummary(
  tx: Transaction,
  batch: PilotBatchEntity,
  stopReason: string | null,
): Promise<void> {
  const { id, organizationId, occurredAt, workerKey, startedAt, finishedAt } = batch;
  const elapsed = startedAt && finishedAt ? finishedAt.getTime() - startedAt.getTime() : null;
  // The duration is null if the end is before the start: the clock was set back during the session.
  const durationMs = elapsed !== null && elapsed >= 0 ? elapsed : null;
  const claims = {
    attempted: batch.claimsAttempted,
    eobUploaded: batch.claimsEobUploaded,
    noEobFound: batch.claimsNoEobFound,
    failed: batch.claimsFailed,
  };
  await tx.execute(
    `INSERT INTO process_library_session_summary
       (pilot_batch_id, organization_id, occurred_at, worker_key, duration_ms, stop_reason, headline)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [
      id,
      organizationId,
      occurredAt,
      workerKey,
      durationMs,
      stopReason,
      writeSessionHeadline({ claims, durationMs, stopReason }),
    ],
  );
}

async function insertSessionEntries(
  tx: Transaction,
  part: { pilotBatchId: string; organizationId: string; entries: TimelineEntry[]; from: number },
): Promise<void> {
  const { pilotBatchId, organizationId, entries, from } = part;
  await tx.execute(
    `INSERT INTO process_library_session_timeline
       (pilot_batch_id, position, organization_id, at, kind, claim_id, outcome, reason, text)
     SELECT $1, $3::int + e.number - 1, $2, e.at, e.kind, e.claim_id, e.outcome, e.reason, e.text
     FROM unnest($4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[]) WITH ORDINALITY
       AS e (at, kind, claim_id, outcome, reason, text, number)`,
    [
      pilotBatchId,
      organizationId,
      from,
      entries.map(({ at }) => at),
      entries.map(({ kind }) => kind),
      entries.map(({ claimId }) => claimId),
      entries.map(({ outcome }) => outcome),
      entries.map(({ reason }) => reason),
      entries.map(({ text }) => text),
    ],
  );
}
