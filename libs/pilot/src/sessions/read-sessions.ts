import { notFoundError } from '@muster/contracts';
import type { Database, PilotBatchEntity, SessionSummaryEntity, SessionTimelineEntity } from '@muster/database';
import type { Page } from '@muster/platform';
import { type Period, withinPeriodSql } from '../batches/period';

export type SessionRow = Pick<
  SessionSummaryEntity,
  'pilotBatchId' | 'occurredAt' | 'workerKey' | 'durationMs' | 'stopReason' | 'headline'
> &
  Pick<
    PilotBatchEntity,
    | 'batchId'
    | 'jobId'
    | 'startedAt'
    | 'finishedAt'
    | 'claimsAttempted'
    | 'claimsEobUploaded'
    | 'claimsNoEobFound'
    | 'claimsFailed'
  >;

export type SessionEntryRow = Pick<SessionTimelineEntity, 'at' | 'kind' | 'claimId' | 'outcome' | 'reason' | 'text'>;

const columns = `s.pilot_batch_id, s.occurred_at, s.worker_key,
  s.duration_ms, s.stop_reason, s.headline, b.batch_id,
  b.job_id, b.started_at, b.finished_at,
  b.claims_attempted, b.claims_eob_uploaded,
  b.claims_no_eob_found, b.claims_failed`;

const source = 'process_library_session_summary s JOIN pilot_batch b ON b.id = s.pilot_batch_id';

interface Listing {
  page: Page;
  filter: Period & { workerKey?: string };
}

/** Lists pilot sessions, the latest first. */
export function listSessions(database: Database, organizationId: string, listing: Listing): Promise<SessionRow[]> {
  const { text, values } = buildListSessionsStatement(organizationId, listing);
  return database.query<SessionRow>({ organizationId }, text, values);
}

export function buildListSessionsStatement(organizationId: string, { page, filter }: Listing) {
  const values: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const conditions = ['s.organization_id = $1', ...withinPeriodSql('s.occurred_at', filter, values)];
  if (filter.workerKey) conditions.push(`s.worker_key = ${addParameter(filter.workerKey)}`);
  if (page.after) {
    const [at, id] = page.after;
    conditions.push(
      `(s.occurred_at, s.pilot_batch_id) < (${addParameter(at)}::timestamptz, ${addParameter(id)}::uuid)`,
    );
  }
  const limit = addParameter(page.limit + 1);
  return {
    text: `SELECT ${columns} FROM ${source}
     WHERE ${conditions.join(' AND ')} ORDER BY s.occurred_at DESC, s.pilot_batch_id DESC LIMIT ${limit}`,
    values,
  };
}

/** Reads a session with its timeline. The lock keeps the two consistent with each other. */
export function findSession(
  database: Database,
  organizationId: string,
  batchId: string,
): Promise<{ session: SessionRow; timeline: SessionEntryRow[] }> {
  return database.transaction({ organizationId }, async (tx) => {
    const [session] = await tx.query<SessionRow>(
      `SELECT ${columns} FROM ${source} WHERE b.organization_id = $1 AND b.batch_id = $2 FOR SHARE OF b`,
      [organizationId, batchId],
    );
    if (!session) throw notFoundError('session');
    const timeline = await tx.query<SessionEntryRow>(
      `SELECT at, kind, claim_id, outcome, reason, text
       FROM process_library_session_timeline WHERE pilot_batch_id = $1 ORDER BY position`,
      [session.pilotBatchId],
    );
    return { session, timeline };
  });
}
