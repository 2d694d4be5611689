import type { AlertRuleEntity, AlertStreakEntity, JobEntity, Transaction } from '@muster/database';
import type { EventRow } from '@muster/webhooks';
import { emitAlertResolvedOfRow, resolvedColumns, type ResolvedRow } from '../alerts/emit-alert';
import { openOrCountAlert, insertResolvedAlert } from '../alerts/open-alert';

type Run = Pick<JobEntity, 'workflowId' | 'agentId'> & { finishedAt: Date; workflowName: string };

/**
 * Evaluates the rule run_failed for the end of a run. Events may arrive in another order than the runs ended, so the
 * ends are compared by their times.
 */
export async function evaluateRunEnd(
  tx: Transaction,
  { type, organizationId, subjectId }: EventRow,
  rule: Pick<AlertRuleEntity, 'channelIds' | 'options'>,
): Promise<void> {
  const [run] = await tx.query<Run>(
    `SELECT j.workflow_id, j.agent_id, j.finished_at, w.name AS workflow_name
     FROM job j JOIN workflow w ON w.id = j.workflow_id
     WHERE j.id = $1 AND j.organization_id = $2 AND j.finished_at IS NOT NULL`,
    [subjectId, organizationId],
    'run_of_alert',
  );
  if (!run) return;
  if (type === 'job.completed') await resolveAlertsByRun(tx, organizationId, run);
  else await addRunFailure(tx, { organizationId, run, rule });
}

async function resolveAlertsByRun(tx: Transaction, organizationId: string, run: Run): Promise<void> {
  await tx.execute(
    `INSERT INTO alert_streak AS s (workflow_id, organization_id, completed_at) VALUES ($1, $2, $3)
     ON CONFLICT (workflow_id) DO UPDATE SET completed_at = GREATEST(s.completed_at, EXCLUDED.completed_at),
       failures = CASE WHEN s.failed_at > EXCLUDED.completed_at THEN s.failures ELSE 0 END`,
    [run.workflowId, organizationId, run.finishedAt],
    'end_alert_streak',
  );
  const resolved = await tx.query<ResolvedRow>(
    `UPDATE alert a SET resolved_at = muster_now()
     WHERE organization_id = $1 AND rule = 'run_failed' AND subject_id = $2 AND resolved_at IS NULL AND last_at <= $3
     RETURNING ${resolvedColumns}`,
    [organizationId, run.workflowId, run.finishedAt],
    'resolve_run_failed',
  );
  for (const alert of resolved) emitAlertResolvedOfRow(tx, alert);
}

async function addRunFailure(
  tx: Transaction,
  {
    organizationId,
    run: { workflowId, agentId, workflowName, finishedAt },
    rule: { channelIds, options },
  }: { organizationId: string; run: Run; rule: Pick<AlertRuleEntity, 'channelIds' | 'options'> },
): Promise<void> {
  const [streak] = await tx.query<Pick<AlertStreakEntity, 'failures'> & { isPast: boolean }>(
    `INSERT INTO alert_streak AS s (workflow_id, organization_id, failures, failed_at) VALUES ($1, $2, 1, $3)
     ON CONFLICT (workflow_id) DO UPDATE SET failed_at = GREATEST(s.failed_at, EXCLUDED.failed_at),
       failures = s.failures + CASE WHEN s.completed_at >= EXCLUDED.failed_at THEN 0 ELSE 1 END
     RETURNING failures, COALESCE(completed_at >= $3, false) AS is_past`,
    [workflowId, organizationId, finishedAt],
    'extend_alert_streak',
  );
  const { failures, isPast } = streak!;
  const { when, times = 1 } = options;
  const alert = {
    ...{ organizationId, rule: 'run_failed' as const, channelIds, workflowId, agentId },
    subject: { type: 'workflow' as const, id: workflowId, name: workflowName },
  };
  // A later run of the workflow has completed already, so the alert is resolved when it opens.
  if (isPast) return when === 'in_a_row' ? undefined : insertResolvedAlert(tx, alert, { at: finishedAt });
  if (when === 'in_a_row' && failures < times) return;
  await openOrCountAlert(tx, alert, {
    ...{ at: finishedAt, count: when === 'in_a_row' ? failures : 1 },
    sendsEach: when === 'every',
  });
}
