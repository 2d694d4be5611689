import {
  type AccountRequest,
  agentNotFoundError,
  type ConcurrencyKey,
  notFoundError,
  type PlacementPreview,
  type PlacementPreviewBody,
} from '@muster/contracts';
import type { AgentEntity, Database, OrganizationSettingsEntity, Transaction } from '@muster/database';
import { listMissingParts } from '@muster/machines';
import { decideBillingGate, readBillingLimits } from '@muster/pricing';
import { runsAnythingSql } from '@muster/workflows';
import type { FitCounts } from '../dispatch/decide-placement';
import { listPartsOfRun } from '../dispatch/decide-start';
import { findBusyKeysAndPools } from './find-guards';
import { countFittingAgentsSql, agentHasLabelsSql, isIdleAgentSql } from './fitting-agents';
import { forecastRunOnNamedAgent, forecastRunByLabels, type RunFacts } from './forecast-run';
import { checkTargetLabels, requireAgentOrTarget } from './target';
import { decideWakesForRuns, findWakeRestEnd } from './wakes-of-runs';

interface WorkflowRow {
  runs: boolean;
  steps: unknown[] | null;
  installationId: string | null;
  concurrencyKeys: ConcurrencyKey[] | null;
  accounts: AccountRequest[] | null;
}

interface AgentsRow extends Pick<OrganizationSettingsEntity, 'maxConcurrentRuns'> {
  autoWake: boolean;
  running: number;
  counts: FitCounts;
  idle: { agentId: string; lastActivityMs: number | null }[] | null;
  online: number;
  exempt: number;
}

type NamedAgent = Pick<
  AgentEntity,
  'status' | 'statusReason' | 'provider' | 'drain' | 'currentJobId' | 'autopilotSessionId' | 'capabilities'
> & { clearing: boolean };

/** Returns what would happen now to a run with this agent or target. Nothing is written. */
export function previewPlacement(
  database: Database,
  organizationId: string,
  body: PlacementPreviewBody,
  now: Date,
): Promise<PlacementPreview> {
  requireAgentOrTarget(body);
  const { workflowId, agentId, target, variables } = body;
  return database.transaction({ organizationId }, async (tx) => {
    const [workflow] = await tx.query<WorkflowRow>(workflowSql, [workflowId, organizationId], 'preview_workflow');
    if (!workflow) throw notFoundError('workflow');
    const labels = target?.labels ?? [];
    const [agents] = await tx.query<AgentsRow>(agentsSql, [organizationId, agentId ?? null, labels], 'preview_agents');
    const { counts, idle, online, exempt, autoWake, maxConcurrentRuns, running } = agents!;
    const gate = decideBillingGate(await readBillingLimits(tx, organizationId, now));
    const { unknownKeys, ...guards } = await findBusyKeysAndPools(tx, organizationId, {
      keys: workflow.concurrencyKeys ?? [],
      accounts: workflow.accounts ?? [],
      variables,
    });
    const facts: RunFacts = {
      autoWake,
      gate,
      maxConcurrentRuns,
      runningInOrganization: running,
      ...guards,
      nothingToRun: !workflow.runs && workflow.installationId === null,
    };
    const answer = { fits: counts.fits, online, idle: idle?.length ?? 0 };
    const forecast = target
      ? forecastRunByLabels({
          ...facts,
          prefer: target.prefer ?? 'running',
          counts,
          exempt,
          idle: idle ?? [],
          wakes: autoWake && !idle ? await findAgentToWake(tx, organizationId, { labels, now }) : null,
          missing: counts.fits === 0 ? (await checkTargetLabels(tx, organizationId, labels)).missing : [],
        })
      : forecastRunOnNamedAgent({
          ...facts,
          ...(await readNamedAgent(tx, organizationId, { agentId: agentId!, workflow, now })),
        });
    if (!unknownKeys || forecast.would === 'refuse' || forecast.would === 'wait') return { ...answer, ...forecast };
    const reason = `${forecast.reason}; concurrency keys of the workflow that contain variables were not checked`;
    return { ...answer, ...forecast, reason };
  });
}

async function readNamedAgent(
  tx: Transaction,
  organizationId: string,
  { agentId, workflow, now }: { agentId: string; workflow: WorkflowRow; now: Date },
) {
  const [agent] = await tx.query<NamedAgent>(
    `SELECT status, status_reason, provider, drain, current_job_id, autopilot_session_id, capabilities,
            clearing_command_id IS NOT NULL AS clearing
     FROM agent WHERE id = $1 AND organization_id = $2 AND status <> 'terminated'`,
    [agentId, organizationId],
    'preview_agent',
  );
  if (!agent) throw agentNotFoundError();
  const { installationId, steps } = workflow;
  const bundle = installationId === null ? null : {};
  return {
    agent,
    agentId,
    statusReason: agent.statusReason,
    wakeRestsUntil: await findWakeRestEnd(tx, agentId, now),
    missingParts: listMissingParts(agent, listPartsOfRun({ steps, bundle })),
  };
}

/**
 * Returns the agent that the dispatcher would wake for the run; null if it would wake none, because agents in boot will
 * take the run and all that wait before it, or because no fitting agent can be woken.
 */
async function findAgentToWake(
  tx: Transaction,
  organizationId: string,
  { labels, now }: { labels: string[]; now: Date },
): Promise<string | null> {
  const runs = [{ id: 'preview', labels, at: now }];
  const [wake] = await decideWakesForRuns(tx, organizationId, { runs, now });
  return wake?.agentId ?? null;
}

const workflowSql = `
  SELECT ${runsAnythingSql} AS runs, CASE WHEN r.script !~ '\\S' THEN r.steps END AS steps,
         w.workflow_pack_installation_id AS installation_id, w.concurrency_keys, w.accounts
  FROM workflow w JOIN workflow_revision r ON r.workflow_id = w.id AND r.revision = w.revision
  WHERE w.id = $1 AND w.organization_id = $2 AND w.archived_at IS NULL`;

/** A named agent always fits, even without the labels and even if it takes no runs that require labels. */
const isChosen = `(CASE WHEN $2::uuid IS NULL THEN ${agentHasLabelsSql('a', '$1', '$3::text[]')}
  ELSE a.id = $2 AND a.organization_id = $1 AND a.status <> 'terminated' END)`;

const agentsSql = `
  SELECT s.vm_auto_wake_on_job AS auto_wake, s.max_concurrent_runs,
    (SELECT count(*)::int FROM agent WHERE organization_id = $1 AND current_job_id IS NOT NULL) AS running,
    ${countFittingAgentsSql('$1', '$3::text[]', isChosen)} AS counts,
    (SELECT count(*)::int FROM agent a WHERE ${isChosen} AND a.status = 'online') AS online,
    (SELECT count(*)::int FROM agent a WHERE ${isChosen} AND NOT a.placement) AS exempt,
    (SELECT json_agg(json_build_object('agentId', a.id, 'lastActivityMs', extract(epoch FROM a.last_activity_at) * 1000))
     FROM agent a WHERE ${isChosen} AND ${isIdleAgentSql('a', '$2::uuid IS NOT NULL')}) AS idle
  FROM organization_settings s WHERE s.organization_id = $1`;
