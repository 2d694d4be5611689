import {
  canWake,
  type ClaimedCommand,
  CommandDelivery,
  issueRun,
  recordWakeBlocked,
  lastWakeFailures,
  missingParts,
  requestWake,
  type PushFacts,
  pushColumns,
  wakeBackoffMs,
  assignJobSql,
} from '@muster/agents';
import { appendTimeline } from '@muster/timeline';
import type { LifecycleSource } from '@muster/contracts';
import {
  type AgentCommandEntity,
  type AgentEntity,
  Database,
  type JobEntity,
  lock,
  type OrganizationSettingsEntity,
  type Transaction,
  type WorkflowRevisionEntity,
} from '@muster/database';
import { canLaunchRuns, limitColumns, type LimitFacts, monthOf } from '@muster/pricing';
import { bundleObject } from '@muster/packs';
import { Clock, type ReceivedMessage } from '@muster/platform';
import { VmConfig } from '@muster/vm';
import { scriptOf } from '@muster/workflows';
import { Inject, Injectable } from '@nestjs/common';
import { decideReadiness, decideStart, needsOfRun, withoutSecrets, type StartDecision } from './decide-start';
import { fullKeys, holdKeys, markKeyed, waitsForKey } from './concurrency-keys';
import { countRunning } from './count-running';
import { DispatchConfig } from './dispatch.config';
import { finishJob } from '../ends/finish-job';
import { jobEntry } from '../launch/insert-job';
import { missingSecrets } from './missing-secrets';
import { setWaiting } from './set-waiting';
import { type StartFacts, startSpan } from './start-span';

interface AgentFacts
  extends
    LimitFacts,
    PushFacts,
    Pick<
      AgentEntity,
      | 'organizationId'
      | 'status'
      | 'provider'
      | 'drain'
      | 'currentJobId'
      | 'dispatchedAt'
      | 'autopilotSessionId'
      | 'capabilities'
    >,
    Pick<OrganizationSettingsEntity, 'maxConcurrentRuns'> {
  agentId: AgentEntity['id'];
  clearing: boolean;
  /** Whether jobs of its queue wait for concurrency keys. */
  keyed: boolean;
  autoWake: OrganizationSettingsEntity['vmAutoWakeOnJob'];
}

interface HeadJob
  extends
    StartFacts,
    Pick<
      JobEntity,
      | 'workflowId'
      | 'workflowRevision'
      | 'variables'
      | 'vaultKeys'
      | 'concurrencyKeys'
      | 'maxRuntimeMs'
      | 'lineage'
      | 'bundle'
      | 'scheduleId'
      | 'retryOf'
      | 'requestId'
    >,
    Pick<WorkflowRevisionEntity, 'script'> {
  workflowName: string;
  /** Null if the workflow has a script. */
  steps: Record<string, unknown>[] | null;
}

export type StartOutcome = { action: StartDecision['action'] | 'resume'; reason: string; jobId?: string };

interface Decided {
  outcome: StartOutcome;
  /** Command that was claimed with the decision; pushed after the commit. */
  push?: ClaimedCommand;
  /** Undelivered command; claimed and delivered again after the commit. */
  commandId?: string;
}

/** Time after which a run's command expires, if the agent does not receive it; longer than any outage. */
const commandLifeMs = 30 * 24 * 3600 * 1000;

/** Decides whether a job may start now, and otherwise records why not. No other code starts jobs. */
@Injectable()
export class Dispatch {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CommandDelivery) private readonly delivery: CommandDelivery,
    @Inject(DispatchConfig) private readonly config: DispatchConfig,
    @Inject(VmConfig) private readonly vm: VmConfig,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Starts the next job of an agent, wakes the agent, or records what its jobs wait for. */
  async startNext(agentId: string, message?: ReceivedMessage): Promise<StartOutcome> {
    const { outcome, push, commandId } = await this.database.transaction('system', async (tx) => {
      if (message) tx.handles(message);
      const decided = await this.decide(tx, agentId);
      // Nothing was done. If a crash loses this commit, the message reappears and is handled again.
      if (decided.outcome.action === 'none') tx.allowUnflushed();
      return decided;
    });
    // Pushed immediately, for latency. If this process dies here, the sweep of undelivered commands pushes it.
    if (push) await this.delivery.push(push);
    else if (commandId) await this.delivery.deliver(commandId);
    return outcome;
  }

  private async decide(tx: Transaction, agentId: string): Promise<Decided> {
    const { agent, head } = await lockAgent(tx, agentId, this.clock.now());
    if (!agent) return nothing('there is no such agent');
    if (agent.currentJobId) return this.resume(tx, agent, agent.currentJobId);
    if (agent.keyed && !head) markKeyed(tx, agentId);
    if (!head) return nothing('no queued job can start yet');
    const { organizationId, autoWake, maxConcurrentRuns } = agent;
    // A concurrent dispatch of a job with one of these keys waits here, and then reads the current holders.
    const full = head.concurrencyKeys
      ? await fullKeys(tx, organizationId, { ...head, concurrencyKeys: head.concurrencyKeys })
      : [];
    if (maxConcurrentRuns !== null) await lock(tx, 'concurrency', organizationId);
    const decision = decideStart({
      agent,
      head: { ...head, nothingToRun: runOf(head) === null && !head.bundle },
      autoWake,
      wakeRestsUntil: await this.wakeRestsUntil(tx, agent),
      maxConcurrentRuns,
      // Queued jobs were admitted by the limits at their launch, so only ended runs count against the limits here.
      gate: canLaunchRuns(agent),
      runningInOrganization: maxConcurrentRuns === null ? 0 : await countRunning(tx, organizationId),
      missingSecrets: head.vaultKeys.length ? await missingSecrets(tx, organizationId, head.vaultKeys) : [],
      fullKeys: full,
      missingParts: missingParts(agent, needsOfRun(head)),
    });
    const outcome = { action: decision.action, reason: decision.reason, jobId: head.id };
    switch (decision.action) {
      case 'start':
        return { outcome, push: this.start(tx, agent, head) };
      case 'fail':
        await finishJob(tx, {
          organizationId,
          jobId: head.id,
          to: 'failed',
          source: 'dispatcher',
          error: decision.reason,
          errorCode: decision.code,
          retries: false,
        });
        return { outcome };
      default:
        await this.waitOrWake(tx, agent, head, decision);
        return { outcome };
    }
  }

  /** Returns when the agent may be woken again after failed wakes, or null. The delay grows with each failure. */
  private async wakeRestsUntil(tx: Transaction, { agentId, status }: AgentFacts): Promise<Date | null> {
    if (!canWake(status)) return null;
    const { consecutive, lastAt } = await lastWakeFailures(tx, agentId);
    if (!lastAt || consecutive === 0) return null;
    const until = new Date(lastAt.getTime() + wakeBackoffMs(consecutive));
    return until > this.clock.now() ? until : null;
  }

  private start(tx: Transaction, agent: AgentFacts, head: HeadJob): ClaimedCommand {
    const { organizationId, agentId } = agent;
    const { id: jobId, workflowId, workflowRevision, variables, maxRuntimeMs, vaultKeys, lineage, bundle } = head;
    // With an empty script, the worker runs the bundle's main.py.
    const script = runOf(head) ?? '';
    const span = startSpan(tx, { ...head, organizationId, agentId });
    const command = issueRun(tx, {
      organizationId,
      agentId,
      jobId,
      payload: {
        script,
        variables,
        workflowId,
        workflowRevision,
        maxRuntimeMs,
        ...(bundle ? { bundle: bundleObject(organizationId, bundle) } : {}),
      },
      env: { ...lineage, ...variables },
      vaultKeys,
      origin: { requestId: head.requestId, traceparent: span.traceparent },
      deadline: new Date(this.clock.now().getTime() + commandLifeMs),
    });
    tx.defer(
      `WITH slot AS (
         ${assignJobSql('$1', '$2')})
       UPDATE job SET command_id = $3, dispatched_at = muster_now(), waiting_reason = NULL, waiting_since = NULL
       WHERE id = $2 AND status = 'queued'`,
      [agentId, jobId, command.id],
      'start_job',
    );
    if (head.concurrencyKeys) holdKeys(tx, jobId);
    setWaiting(tx, { agentId, except: jobId, reason: 'agent_busy' });
    if (agent.keyed) markKeyed(tx, agentId);
    appendTimeline(tx, { organizationId, agentId }, [
      jobEntry({
        jobId,
        status: 'queued',
        previousStatus: 'queued',
        message: 'sent to the agent',
        source: 'dispatcher',
      }),
    ]);
    return { ...agent, ...command, pushes: 1, isDue: true };
  }

  private async waitOrWake(
    tx: Transaction,
    agent: AgentFacts,
    head: Pick<HeadJob, 'id' | 'scheduleId' | 'retryOf'>,
    decision: Extract<StartDecision, { action: 'wait' | 'wake' | 'none' }>,
  ): Promise<void> {
    const { organizationId, agentId } = agent;
    const wake = { organizationId, agentId, jobId: head.id, source: sourceOf(head), reason: decision.reason };
    if (decision.action === 'none') return;
    if (decision.action === 'wake') await requestWake(tx, { ...wake, timeoutMs: this.vm.wakeTimeoutMs });
    else if (decision.blocked) await recordWakeBlocked(tx, wake);
    if (decision.waiting === 'concurrency_key') {
      // Jobs of other agents hold or will get the key. The next dispatch of this agent skips the job.
      markKeyed(tx, agentId, head.id);
      return;
    }
    setWaiting(tx, { agentId, reason: decision.waiting });
    if (agent.keyed) markKeyed(tx, agentId);
  }

  /**
   * Handles an agent that is occupied by a job whose command it may not have received. The command is delivered again
   * with the same id, by which a worker recognizes it. A second command for the same attempt is never created.
   */
  private async resume(tx: Transaction, agent: AgentFacts, jobId: string): Promise<Decided> {
    const [job] = await tx.query<
      Pick<JobEntity, 'id' | 'vaultKeys' | 'scheduleId' | 'retryOf'> & { commandId: AgentCommandEntity['id'] }
    >(
      `SELECT j.id, c.id AS command_id, j.vault_keys, j.schedule_id, j.retry_of
       FROM job j JOIN agent_command c ON c.id = j.command_id
       WHERE j.id = $1 AND j.status = 'queued' AND c.status = 'pending' AND c.taken_at IS NULL`,
      [jobId],
      'undelivered_run',
    );
    if (!job) {
      setWaiting(tx, { agentId: agent.agentId, except: jobId, reason: 'agent_busy' });
      return nothing(`job ${jobId} occupies the agent`, jobId);
    }
    const missing = job.vaultKeys.length ? await missingSecrets(tx, agent.organizationId, job.vaultKeys) : [];
    const decision = missing.length
      ? withoutSecrets(missing)
      : decideReadiness(agent, { autoWake: agent.autoWake, wakeRestsUntil: await this.wakeRestsUntil(tx, agent) });
    if (decision.action === 'start') {
      const late = Number(agent.dispatchedAt) + this.config.dispatchDeadlineMs < this.clock.now().getTime();
      // The agent is online but does not acknowledge the command, so its queued jobs are shown as waiting for it.
      if (late) setWaiting(tx, { agentId: agent.agentId, reason: 'agent_offline' });
      const outcome = { action: 'resume', reason: 'the command is delivered again', jobId } as const;
      return { outcome, commandId: job.commandId };
    }
    if (decision.action === 'fail') {
      const { organizationId } = agent;
      const { reason: error, code: errorCode } = decision;
      await finishJob(tx, {
        organizationId,
        jobId,
        to: 'failed',
        source: 'dispatcher',
        error,
        errorCode,
        retries: false,
      });
      return { outcome: { action: 'fail', reason: error, jobId } };
    }
    await this.waitOrWake(tx, agent, job, decision);
    return { outcome: { action: decision.action, reason: decision.reason, jobId } };
  }
}

function runOf({ workflowName: name, script, steps }: HeadJob): string | null {
  return scriptOf({ name, script, steps: steps ?? [] });
}

function nothing(reason: string, jobId?: string): Decided {
  return { outcome: { action: 'none', reason, jobId } };
}

/**
 * Locks the agent, and returns it with the next job if it is free: by priority, then by arrival. A job that waits for
 * its retry delay does not block the others. The lock is a separate statement, so that the next statements read what
 * its last holder committed.
 */
async function lockAgent(tx: Transaction, agentId: string, now: Date): Promise<{ agent?: AgentFacts; head?: HeadJob }> {
  // The statistics of Postgres may miss a queue of 100,000 jobs. Without a sort, its first job is read by the index.
  tx.unsorted();
  tx.defer('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId], 'lock_agent');
  const [agents, heads] = await tx.queryAll([
    { name: 'start_facts', text: startFacts, values: [agentId, monthOf(now)] },
    { name: 'first_in_queue', text: firstInQueue, values: [agentId] },
  ]);
  return { agent: agents![0] as AgentFacts | undefined, head: heads![0] as HeadJob | undefined };
}

const startFacts = `
  SELECT a.organization_id, a.id AS agent_id, a.status, a.provider, a.drain,
         a.current_job_id, a.dispatched_at, a.autopilot_session_id, a.capabilities,
         EXISTS (SELECT FROM agent_command c WHERE c.id = a.clearing_command_id) AS clearing,
         EXISTS (SELECT FROM concurrency_lease l WHERE l.agent_id = a.id AND l.since IS NULL) AS keyed,
         s.vm_auto_wake_on_job AS auto_wake, s.max_concurrent_runs, ${pushColumns}, ${limitColumns('$2')}
  FROM agent a JOIN organization o ON o.id = a.organization_id
  JOIN organization_settings s ON s.organization_id = o.id
  LEFT JOIN usage_counter c ON c.organization_id = o.id AND c.month = $2
  WHERE a.id = $1`;

const firstInQueue = `
  SELECT j.id, j.workflow_id, j.workflow_revision, r.script, j.variables,
         CASE WHEN r.script !~ '\\S' THEN r.steps END AS steps,
         (SELECT name FROM workflow w WHERE w.id = j.workflow_id) AS workflow_name,
         j.vault_keys, j.concurrency_keys, j.max_runtime_ms, j.lineage, j.bundle, j.schedule_id, j.retry_of, j.request_id, j.traceparent,
         j.waiting_reason,
         extract(epoch FROM muster_clock() - GREATEST(j.queued_at, j.not_before))::float8 AS waited_seconds
  FROM job j JOIN workflow_revision r ON r.workflow_id = j.workflow_id AND r.revision = j.workflow_revision
  WHERE j.agent_id = $1 AND j.status = 'queued' AND j.command_id IS NULL AND j.cancel_requested_at IS NULL
    AND j.not_before <= muster_now()
    AND NOT EXISTS (SELECT FROM batch b WHERE b.id = j.batch_id AND b.cancel_requested_at IS NOT NULL)
    AND (SELECT current_job_id FROM agent WHERE id = $1) IS NULL
    AND NOT ${waitsForKey('j')}
  ORDER BY j.priority DESC, j.queued_at, j.id LIMIT 1
  FOR UPDATE OF j`;

function sourceOf({ scheduleId, retryOf }: { scheduleId: string | null; retryOf: string | null }): LifecycleSource {
  return retryOf ? 'retry' : scheduleId ? 'schedule' : 'dispatcher';
}
