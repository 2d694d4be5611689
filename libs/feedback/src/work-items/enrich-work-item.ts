import { loadSecretRedactor } from '@muster/access';
import type { Database, FeedbackSubmissionEntity } from '@muster/database';
import { ModelAborted } from '@muster/models';
import { findModelForCaller, type ModelParts } from '@muster/pricing';
import { Logger } from '@nestjs/common';
import { renewWorkItemLease, LeaseLost, type WorkItem } from './lease-work-item';
import { enrichByModel } from './enrich-by-model';
import { type Enrichment, enrichByRule } from './enrich-by-rule';

export interface EnrichParts {
  database: Database;
  /** Settings with which the language model is called; null if no model is used. */
  models: Omit<ModelParts, 'database'> | null;
  /** Maximum milliseconds that the model may take to answer. */
  modelMs: number;
  leaseMs: number;
}

type Other = Pick<FeedbackSubmissionEntity, 'id' | 'title'>;

const log = new Logger('feedback');

/** Enriches a report before it is sent to a tracker, by a model or else by rules, and stores the result. */
export async function enrichWorkItem(parts: EnrichParts, item: WorkItem): Promise<void> {
  const { database } = parts;
  const others = await database.query<Other>(
    'system',
    `SELECT id, title FROM feedback_submission
     WHERE organization_id = $1 AND id < $2 AND type = $3 AND status IN ('received', 'triaged', 'in_progress')
     ORDER BY id DESC LIMIT 200`,
    [item.organizationId, item.id, item.type],
  );
  const report = { ...item, severity: item.reportedSeverity };
  const found = (await enrichWithModel(parts, item, others)) ?? enrichByRule(report, others);
  const stored = await database.query(
    'system',
    `UPDATE feedback_work_item SET severity = $3, component = $4, summary = $5, duplicates = $6, enriched_by = $7
     WHERE submission_id = $1 AND lease = $2 RETURNING submission_id`,
    [item.id, item.lease, found.severity, found.component, found.summary, found.duplicates, found.enrichedBy],
  );
  if (stored.length === 0) throw new LeaseLost(`the lease on ${item.id} was lost`);
  Object.assign(item, found);
}

/** Returns null if no model answers. A model is called at most once per item: the call is recorded first. */
async function enrichWithModel(parts: EnrichParts, item: WorkItem, others: Other[]): Promise<Enrichment | null> {
  const { database, models, modelMs, leaseMs } = parts;
  if (!models) return null;
  const { id, lease, organizationId } = item;
  try {
    const caller = { organizationId, purpose: 'feedback_enrichment' as const, sessionId: id };
    const model = await findModelForCaller({ ...models, database }, caller);
    if (!model) return null;
    await renewWorkItemLease(database, item, modelMs + leaseMs);
    const [isFirstCall] = await database.query<{ submissionId: string }>(
      'system',
      `UPDATE feedback_work_item SET model_asked_at = muster_now()
       WHERE submission_id = $1 AND lease = $2 AND model_asked_at IS NULL RETURNING submission_id`,
      [id, lease],
    );
    if (!isFirstCall) return null;
    const report = { ...item, severity: item.reportedSeverity };
    const hidden = await loadSecretRedactor({ ...models, database }, { organizationId, agentId: null });
    return await enrichByModel(model, { report, others, hidden, signal: AbortSignal.timeout(modelMs) });
  } catch (error) {
    const { code, name } = error as { code?: string; name: string };
    if (!isModelError(error)) throw error;
    log.warn(`enrichment of feedback ${id} by a model failed, using rules instead: ${code ?? name}`);
    return null;
  }
}

/** Whether the error comes from the model or from billing, and not from a lost lease or the database. */
function isModelError(error: unknown): boolean {
  const codes = ['model_failed', 'execution_timeout', 'model_not_configured', 'billing_gate_closed'];
  return error instanceof ModelAborted || codes.includes((error as { code?: string }).code ?? '');
}
