import { audit, getBoundAgent, type Principal } from '@muster/access';
import { AppError, type ClaimOutcome } from '@muster/contracts';
import { type JobEntity, acquireAdvisoryLock, type PilotBatchEntity, type Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { insertRoiMetric } from '../roi/insert-roi-metric';
import type { RunSummary } from './read-run-summary';

export interface IngestedBatch {
  batchId: string;
  jobId: string | null;
  claims: number;
  stopEvents: number;
  /** Whether an earlier report of the batch was replaced. */
  replaced: boolean;
}

/** Maximum number of rows per statement, so that the process can handle other requests between the statements. */
const rowBatchSize = 1000;

/**
 * Stores a reported batch in place of an earlier report of it. Concurrent reports of one batch wait for each other, and
 * the last one remains.
 */
export async function ingestRunSummary(
  tx: Transaction,
  caller: Principal,
  summary: RunSummary,
): Promise<IngestedBatch> {
  const { organizationId } = caller;
  const { batchId, jobId, claims, stopEvents } = summary;
  await acquireAdvisoryLock(tx, 'pilot_batch', organizationId, batchId);
  const job = jobId === null ? null : await lockJobOfSummary(tx, caller, jobId);
  await requireOwnBatch(tx, caller, { batchId, jobId });
  const replaced = await deleteBatch(tx, organizationId, batchId);
  const id = newId();
  const reporterAgentId = getBoundAgent(caller);
  await insertBatch(tx, { id, organizationId, workflowId: job?.workflowId ?? null, reporterAgentId, summary });
  for (let from = 0; from < claims.length; from += rowBatchSize) {
    await insertClaimsOfBatch(tx, { id, organizationId, summary, from });
  }
  for (let from = 0; from < stopEvents.length; from += rowBatchSize) {
    await insertStopsOfBatch(tx, { id, organizationId, summary, from });
  }
  await insertRoiMetric(tx, id);
  const counts = { claims: claims.length, stopEvents: stopEvents.length };
  await tx.enqueue({ queue: 'metering', name: 'batch-ingested', payload: { pilotBatchId: id } });
  audit(tx, caller, {
    action: 'pilot_batch.ingest',
    target: { type: 'pilot_batch', id: batchId },
    changes: { jobId, replaced, ...counts },
  });
  return { batchId, jobId, ...counts, replaced };
}

/** Locks the job, so that its cost is not booked and the job is not deleted while the batch is stored. */
async function lockJobOfSummary(
  tx: Transaction,
  caller: Principal,
  jobId: string,
): Promise<Pick<JobEntity, 'workflowId'>> {
  const agentId = getBoundAgent(caller);
  const [job] = await tx.query<Pick<JobEntity, 'workflowId'>>(
    `SELECT workflow_id FROM job
     WHERE id = $1 AND organization_id = $2 AND ($3::uuid IS NULL OR agent_id = $3) FOR UPDATE`,
    [jobId, caller.organizationId, agentId],
    'lock_job_of_batch',
  );
  if (!job)
    throw new AppError('JOB_NOT_FOUND', {
      detail: 'The organization has no job with this id. List the jobs to find the id.',
    });
  return job;
}

/**
 * Requires that the caller may replace the batch. Sessions and organization keys may replace every batch. A key that is
 * bound to an agent may replace batches that this agent reported and batches of this agent's runs. If the new report is
 * for a retry of a run, the key may also replace a batch of the earlier attempts, which may have been on other
 * machines.
 */
async function requireOwnBatch(
  tx: Transaction,
  caller: Principal,
  { batchId, jobId }: { batchId: string; jobId: string | null },
): Promise<void> {
  const agentId = getBoundAgent(caller);
  if (agentId === null) return;
  const [batchOfOthers] = await tx.query<{ id: string }>(
    `WITH RECURSIVE attempt (id) AS (
       SELECT retry_of FROM job WHERE organization_id = $1 AND id = $4
       UNION SELECT job.retry_of FROM job JOIN attempt ON attempt.id = job.id
     )
     SELECT batch.id FROM pilot_batch batch LEFT JOIN job ON job.id = batch.job_id
     WHERE batch.organization_id = $1 AND batch.batch_id = $2
       AND batch.reporter_agent_id IS DISTINCT FROM $3::uuid AND job.agent_id IS DISTINCT FROM $3::uuid
       AND NOT EXISTS (SELECT FROM attempt WHERE attempt.id = batch.job_id)`,
    [caller.organizationId, batchId, agentId, jobId],
    'batch_of_another_agent',
  );
  if (!batchOfOthers) return;
  throw new AppError('conflict', {
    detail:
      'This batch was reported by another agent, an organization key or a user. Report it with an organization key, ' +
      'or under another batchId.',
  });
}

async function deleteBatch(tx: Transaction, organizationId: string, batchId: string): Promise<boolean> {
  const [old] = await tx.query<Pick<PilotBatchEntity, 'id'>>(
    'SELECT id FROM pilot_batch WHERE organization_id = $1 AND batch_id = $2 FOR UPDATE',
    [organizationId, batchId],
    'find_old_batch',
  );
  if (!old) return false;
  // Deletes in the order that section 4.2 of the interface specifies.
  tx.deferStatement('DELETE FROM process_library_session_timeline WHERE pilot_batch_id = $1', [old.id]);
  tx.deferStatement('DELETE FROM process_library_session_summary WHERE pilot_batch_id = $1', [old.id]);
  tx.deferStatement('DELETE FROM pilot_stop_event WHERE pilot_batch_id = $1', [old.id]);
  tx.deferStatement('DELETE FROM pilot_claim_result WHERE pilot_batch_id = $1', [old.id]);
  await tx.execute('DELETE FROM pilot_batch WHERE id = $1', [old.id]);
  return true;
}

interface Part {
  id: string;
  organizationId: string;
  summary: RunSummary;
}

async function insertBatch(
  tx: Transaction,
  {
    id,
    organizationId,
    workflowId,
    reporterAgentId,
    summary,
  }: Part & Pick<PilotBatchEntity, 'workflowId' | 'reporterAgentId'>,
): Promise<void> {
  const { batchId, jobId, workerKey, startedAt, finishedAt, totals, metadata, claims, stopEvents } = summary;
  const countClaimsWithOutcome = (outcome: ClaimOutcome) => claims.filter((claim) => claim.outcome === outcome).length;
  const timed = claims.flatMap(({ processingMicros }) => processingMicros ?? []);
  await tx.execute(
    `INSERT INTO pilot_batch
       (id, organization_id, batch_id, job_id, named_job_id, workflow_id, worker_key, started_at, finished_at,
        occurred_at, claims_attempted, claims_eob_uploaded, claims_no_eob_found, claims_failed, stop_events,
        processing_micros, totals, metadata, reporter_agent_id)
     VALUES ($1, $2, $3, $4, $4, $5, $6, $7, $8, COALESCE($7, $8, date_trunc('milliseconds', muster_now())), $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
    [
      id,
      organizationId,
      batchId,
      jobId,
      workflowId,
      workerKey,
      startedAt,
      finishedAt,
      claims.length,
      countClaimsWithOutcome('eob_uploaded'),
      countClaimsWithOutcome('no_eob_found'),
      countClaimsWithOutcome('failed'),
      stopEvents.length,
      timed.length ? timed.reduce((sum, micros) => sum + micros, 0) : null,
      totals && JSON.stringify(totals),
      JSON.stringify(metadata),
      reporterAgentId,
    ],
    'insert_pilot_batch',
  );
}

async function insertClaimsOfBatch(tx: Transaction, { id, organizationId, summary, from }: Part & { from: number }) {
  const rows = summary.claims.slice(from, from + rowBatchSize);
  await tx.execute(
    `INSERT INTO pilot_claim_result
       (organization_id, id, pilot_batch_id, claim_index, claim_id, npi, outcome, processing_micros, message, metadata)
     SELECT $1, $2 || ':claim:' || ($4::int + row.number - 1), $3, $4::int + row.number - 1, row.claim_id, row.npi,
            row.outcome, row.micros, row.message, row.metadata
     FROM unnest($5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::jsonb[]) WITH ORDINALITY
       AS row (claim_id, npi, outcome, micros, message, metadata, number)`,
    [
      organizationId,
      summary.batchId,
      id,
      from,
      rows.map(({ claimId }) => claimId),
      rows.map(({ npi }) => npi),
      rows.map(({ outcome }) => outcome),
      rows.map(({ processingMicros }) => processingMicros),
      rows.map(({ message }) => message),
      rows.map(({ metadata }) => metadata),
    ],
    'insert_pilot_claims',
  );
}

async function insertStopsOfBatch(tx: Transaction, { id, organizationId, summary, from }: Part & { from: number }) {
  const rows = summary.stopEvents.slice(from, from + rowBatchSize);
  await tx.execute(
    `INSERT INTO pilot_stop_event (organization_id, pilot_batch_id, event_index, reason, at, detail, metadata)
     SELECT $1, $2, $3::int + row.number - 1, row.reason, row.at, row.detail, row.metadata
     FROM unnest($4::text[], $5::timestamptz[], $6::text[], $7::jsonb[]) WITH ORDINALITY
       AS row (reason, at, detail, metadata, number)`,
    [
      organizationId,
      id,
      from,
      rows.map(({ reason }) => reason),
      rows.map(({ at }) => at),
      rows.map(({ detail }) => detail),
      rows.map(({ metadata }) => metadata),
    ],
    'insert_pilot_stops',
  );
}
