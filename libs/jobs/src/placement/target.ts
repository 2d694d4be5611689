import { createHash } from 'node:crypto';
import { AppError, invalidFieldError, type JobTarget, type RunTarget, type TargetPreference } from '@muster/contracts';
import type { Transaction } from '@muster/database';

/** The requirements of a job for its agent, as its row contains them. All are null if the job names its agent. */
export interface TargetColumns {
  targetLabels: string[] | null;
  targetPrefer: TargetPreference | null;
}

/** Throws invalid_payload (400) unless exactly one of the agent and the target is specified. */
export function requireAgentOrTarget({ agentId, target }: { agentId?: string; target?: RunTarget }): void {
  if ((agentId === undefined) !== (target === undefined)) return;
  throw invalidFieldError(
    'agentId',
    'exactly one of agentId and target is required',
    'Specify either agentId or target.',
  );
}

export function toTargetColumns(target: RunTarget | undefined): TargetColumns {
  if (!target) return { targetLabels: null, targetPrefer: null };
  return { targetLabels: [...new Set(target.labels)], targetPrefer: target.prefer ?? 'running' };
}

export function presentTarget({ targetLabels, targetPrefer }: TargetColumns): JobTarget | null {
  return targetLabels && { labels: targetLabels, prefer: targetPrefer ?? 'running' };
}

/**
 * Returns the digest of the labels in the form of a UUID. Jobs that require the same labels have the same digest, so
 * an index can contain a queue for each set of labels. The labels themselves can be too long for an index.
 */
export function digestLabels(labels: readonly string[]): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([...labels].sort()))
    .digest('hex');
  return digest.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Throws no_agent_fits (409) if no agent of the organization, except terminated ones, has all of the labels. */
export async function requireFittingAgent(
  tx: Pick<Transaction, 'query'>,
  organizationId: string,
  labels: readonly string[],
): Promise<void> {
  const { fits, missing } = await checkTargetLabels(tx, organizationId, labels);
  if (!fits) throw createNoAgentFitsError(missing);
}

/** Returns whether an agent has all of the labels, and the labels that no agent has. */
export async function checkTargetLabels(
  tx: Pick<Transaction, 'query'>,
  organizationId: string,
  labels: readonly string[],
): Promise<{ fits: boolean; missing: string[] }> {
  const [found] = await tx.query<{ fits: boolean; missing: string[] }>(
    `SELECT EXISTS (
              SELECT FROM agent a WHERE a.organization_id = $1 AND a.status <> 'terminated' AND a.labels @> $2::text[]) AS fits,
            ARRAY(SELECT l FROM unnest($2::text[]) WITH ORDINALITY AS required (l, position)
                  WHERE NOT EXISTS (SELECT FROM agent a WHERE a.organization_id = $1 AND a.status <> 'terminated' AND l = ANY(a.labels))
                  ORDER BY position) AS missing`,
    [organizationId, labels],
    'find_fit',
  );
  return found!;
}

function createNoAgentFitsError(labels: string[]): AppError {
  const detail = labels.length
    ? `No agent has the label ${labels.join(', ')}.`
    : 'Each label is on some agent, but no agent has all of them.';
  return new AppError('no_agent_fits', { detail, extra: { labels } });
}
