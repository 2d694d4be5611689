import {
  canWakeFrom,
  recordWakeBlocked,
  readLastWakeFailures,
  listMissingParts,
  requestWake,
  getWakeDelayMs,
  assignJobsToMachinesSql,
} from '@muster/machines';
import { type ClaimedCommand, CommandDelivery, issueRunCommand } from '@muster/commands';
import { appendTimeline } from '@muster/timeline';
import type { LifecycleSource } from '@muster/contracts';
import {
  type AgentCommandEntity,
  Database,
  type JobEntity,
  acquireAdvisoryLock,
  buildRowStatements,
  type Transaction,
} from '@muster/database';
import { decideBillingGate } from '@muster/pricing';
import { toBundleObject } from '@muster/packs';
import { Clock, type ReceivedMessage } from '@muster/platform';
import { VmConfig } from '@muster/vm';
import { buildScriptToRun } from '@muster/workflows';
import { Inject, Injectable } from '@nestjs/common';
import {
  buildAccountVariables,
  getPoolsOfAccounts,
  type Borrowed,
  chooseAccounts,
  assignAccountsToJob,
  markJobsWaitingForAccounts,
} from '../accounts/borrow-accounts';
import {
  decideMachineReadiness,
  decideJobStart,
  listPartsOfRun,
  decideFailureForMissingSecrets,
  type StartDecision,
} from './decide-start';
import { lockAndFindFullKeys, assignConcurrencyKeys, markJobsWaitingForKeys } from './concurrency-keys';
import { countRunningJobs } from './count-running';
import { cameFreeFirst, type ChosenFor } from './decide-placement';
import { DispatchConfig } from './dispatch.config';
import { finishJob } from '../ends/finish-job';
import { enqueuePlacementOfJobs } from '../placement/enqueue-placements';
import { assignKeysAndAccounts, buildStartEntries } from '../placement/record-placement';
import { setReasonOfUnplacedJob } from '../placement/set-reasons';
import { lockJob } from '../lists/job-row';
import { findMissingSecrets } from './find-missing-secrets';
import { setWaitingReasonOfJobs } from './set-waiting-reason';
import { type AgentFacts, type HeadJob, lockAgentAndNextJob, NextJobLocked } from './lock-agent-and-next-job';
import { startRunSpan } from './start-run-span';

export type StartOutcome = { action: StartDecision['action'] | 'resume'; reason: string; jobId?: string };

interface Decided {
  outcome: StartOutcome;
  /** The run command of the started job. It is inserted as claimed and pushed after the commit. */
  push?: ClaimedCommand;
  /** Id of an undelivered command, which is claimed and delivered again after the commit. */
  commandId?: string;
}

/** Time after which an undelivered run command expires; longer than any expected outage. */
const commandLifeMs = 30 * 24 * 3600 * 1000;

/** Maximum number of repeated starts that lock the job first. Each of them can find that another job is next by now. */
const maxTries = 5;

/** Starts queued jobs, and records why a job cannot start yet. No other code starts jobs. */
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
  async startNextJob(agentId: string, message?: ReceivedMessage, chosen?: ChosenFor): Promise<StartOutcome> {
    const startInTransaction = async (tx: Transaction) => {
      if (message) tx.markMessageHandled(message);
      const decided = await this.decideNextStart(tx, agentId, chosen);
      // No job was started. If a crash loses this commit, the message appears again and is handled again.
      if (decided.outcome.action === 'none') tx.allowUnflushedCommit();
      return decided;
    };
    const { outcome, push, commandId } = await this.database
      .sharedTransaction('start', 'system', startInTransaction, agentId)
      .catch((error: unknown) => this.retryLockedStart(error, startInTransaction));
    // The command is pushed at once to save time. If this process dies before the push, the sweep of undelivered
    // commands pushes the command.
    if (push) await this.delivery.pushLeasedCommand(push);
    else if (commandId) await this.delivery.deliverCommand(commandId);
    return outcome;
  }

  /** Repeats a start that could not lock its job. The repeated start locks the job before the agent. */
  private async retryLockedStart(error: unknown, start: (tx: Transaction) => Promise<Decided>): Promise<Decided> {
    for (let reason = error, tries = 1; ; tries += 1) {
      if (!(reason instanceof NextJobLocked) || tries > maxTries) throw reason;
      const { jobId } = reason;
      try {
        return await this.database.transaction('system', async (tx) => {
          tx.deferStatement('SELECT FROM job WHERE id = $1 FOR UPDATE', [jobId], 'lock_next_job');
          return start(tx);
        });
      } catch (again) {
        reason = again;
      }
    }
  }

  private async decideNextStart(tx: Transaction, agentId: string, chosen?: ChosenFor): Promise<Decided> {
    const { agent, head } = await lockAgentAndNextJob(tx, { agentId, chosen }, this.clock.now());
    if (!agent) return decideNoAction('there is no such agent');
    if (agent.currentJobId) return this.resumeDispatchedJob(tx, agent, agent.currentJobId);
    const { organizationId, autoWake, maxConcurrentRuns } = agent;
    // The agent may have freed a slot of the organization that it does not use itself. A placement looks at all slots.
    const offerFreeSlot = () => {
      if (maxConcurrentRuns !== null && !chosen) enqueuePlacementOfJobs(tx, organizationId);
    };
    if (!head) {
      markJobsHeldUp(tx, agent);
      offerFreeSlot();
      return decideNoAction('no queued job can start yet');
    }
    // The locks below block dispatches of other agents, and a shared transaction may contain such dispatches.
    if (head.concurrencyKeys || head.accounts || maxConcurrentRuns !== null) tx.requireOwnConnection();
    // Concurrent dispatches of jobs with the same concurrency key wait here, and then read the current holders.
    const full = head.concurrencyKeys
      ? await lockAndFindFullKeys(tx, organizationId, { ...head, concurrencyKeys: head.concurrencyKeys })
      : [];
    const choice = head.accounts
      ? await chooseAccounts(tx, organizationId, { ...head, accounts: head.accounts })
      : { accounts: [] };
    const borrowed = 'accounts' in choice ? choice.accounts : [];
    const secrets = [...head.vaultKeys, ...Object.values(buildAccountVariables(borrowed))];
    if (maxConcurrentRuns !== null) await acquireAdvisoryLock(tx, 'concurrency', organizationId);
    const decision = decideJobStart({
      agent,
      head: { ...head, nothingToRun: getScriptToRun(head) === null && !head.bundle },
      autoWake,
      wakeRestsUntil: await this.findWakeRestEnd(tx, agent),
      maxConcurrentRuns,
      // Queued jobs were counted against the monthly limits at their launch; here only ended runs count.
      gate: decideBillingGate(agent),
      runningInOrganization: maxConcurrentRuns === null ? 0 : await countRunningJobs(tx, organizationId),
      missingSecrets: secrets.length ? await findMissingSecrets(tx, organizationId, secrets) : [],
      fullKeys: full,
      busyPool: 'busyPool' in choice ? choice.busyPool : null,
      missingParts: listMissingParts(agent, listPartsOfRun(head)),
    });
    const outcome = { action: decision.action, reason: decision.reason, jobId: head.id };
    switch (decision.action) {
      case 'start':
        return { outcome, push: this.claimJobForAgent(tx, agent, head, { borrowed, chosen }) };
      case 'fail':
        tx.requireOwnConnection();
        await finishJob(tx, {
          organizationId,
          jobId: head.id,
          to: 'failed',
          source: 'dispatcher',
          error: decision.reason,
          errorCode: decision.code,
          retries: false,
        });
        // The end of a job without an agent enqueues no agent, and this one is still idle.
        if (head.unplaced) await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId } });
        return { outcome };
      default:
        await this.recordWaitOrRequestWake(tx, agent, head, decision);
        if (decision.action === 'wait' && decision.waiting !== 'concurrency_limit') offerFreeSlot();
        return { outcome };
    }
  }

  /** Returns the time before which failed wakes forbid another wake, or null. The delay grows with each failure. */
  private async findWakeRestEnd(tx: Transaction, { agentId, status }: AgentFacts): Promise<Date | null> {
    if (!canWakeFrom(status)) return null;
    const { consecutive, lastAt } = await readLastWakeFailures(tx, agentId);
    if (!lastAt || consecutive === 0) return null;
    const until = new Date(lastAt.getTime() + getWakeDelayMs(consecutive));
    return until > this.clock.now() ? until : null;
  }

  private claimJobForAgent(
    tx: Transaction,
    agent: AgentFacts,
    head: HeadJob,
    { borrowed, chosen }: { borrowed: Borrowed[]; chosen?: ChosenFor },
  ): ClaimedCommand {
    const { organizationId, agentId } = agent;
    const { id: jobId, workflowId, workflowRevision, variables, maxRuntimeMs, vaultKeys, lineage, bundle } = head;
    // With an empty script, the worker runs the bundle's main.py.
    const script = getScriptToRun(head) ?? '';
    const span = startRunSpan(tx, { ...head, organizationId, agentId });
    const command = issueRunCommand(tx, {
      organizationId,
      agentId,
      jobId,
      payload: {
        script,
        variables,
        workflowId,
        workflowRevision,
        maxRuntimeMs,
        ...(bundle ? { bundle: toBundleObject(organizationId, bundle) } : {}),
        ...(borrowed.length ? { accounts: getPoolsOfAccounts(borrowed) } : {}),
      },
      env: { ...lineage, ...variables },
      vaultKeys,
      ...(borrowed.length ? { secretAliases: buildAccountVariables(borrowed) } : {}),
      origin: { requestId: head.requestId, traceparent: span.traceparent },
      deadline: new Date(this.clock.now().getTime() + commandLifeMs),
    });
    const why = head.unplaced ? (chosen?.jobId === jobId ? chosen.why : cameFreeFirst) : null;
    tx.deferRow(startJob, [agentId, jobId, command.id, why]);
    if (head.unplaced) assignKeysAndAccounts(tx, agentId, head);
    if (head.concurrencyKeys) assignConcurrencyKeys(tx, jobId);
    if (borrowed.length) assignAccountsToJob(tx, jobId, borrowed);
    setWaitingReasonOfJobs(tx, { agentId, except: jobId, reason: 'agent_busy' });
    markJobsHeldUp(tx, agent);
    appendTimeline(tx, { organizationId, agentId }, buildStartEntries(head, agentId, why));
    return { ...agent, ...command, pushes: 1, isDue: true };
  }

  private async recordWaitOrRequestWake(
    tx: Transaction,
    agent: AgentFacts,
    head: Pick<HeadJob, 'id' | 'scheduleId' | 'retryOf'> & Partial<Pick<HeadJob, 'unplaced'>>,
    decision: Extract<StartDecision, { action: 'wait' | 'wake' | 'none' }>,
  ): Promise<void> {
    const { organizationId, agentId } = agent;
    const wake = { organizationId, agentId, jobId: head.id, source: getStartSource(head), reason: decision.reason };
    if (decision.action === 'none') return;
    if (decision.action === 'wake' || decision.blocked) tx.requireOwnConnection();
    if (decision.action === 'wake') await requestWake(tx, { ...wake, timeoutMs: this.vm.wakeTimeoutMs });
    else if (decision.blocked) await recordWakeBlocked(tx, wake);
    if (head.unplaced) setReasonOfUnplacedJob(tx, { jobId: head.id, waiting: decision.waiting });
    if (decision.waiting === 'concurrency_key') {
      // Jobs of other agents hold the key or will get it first. The next dispatch of this agent skips the job.
      markJobsWaitingForKeys(tx, agentId, head.id);
      return;
    }
    if (decision.waiting === 'account_busy') {
      markJobsWaitingForAccounts(tx, agentId, head.id);
      return;
    }
    setWaitingReasonOfJobs(tx, { agentId, reason: decision.waiting });
    markJobsHeldUp(tx, agent);
  }

  /**
   * Handles an agent that is occupied by a job whose command may not have reached the worker. The same command is
   * delivered again; the worker recognizes its id. No second command is created for an attempt.
   */
  private async resumeDispatchedJob(tx: Transaction, agent: AgentFacts, jobId: string): Promise<Decided> {
    const [job] = await tx.query<
      Pick<JobEntity, 'id' | 'scheduleId' | 'retryOf'> & { commandId: AgentCommandEntity['id']; secrets: string[] }
    >(
      `SELECT j.id, c.id AS command_id, j.schedule_id, j.retry_of,
              j.vault_keys || ARRAY(SELECT value FROM jsonb_each_text(c.secret_aliases)) AS secrets
       FROM job j JOIN agent_command c ON c.id = j.command_id
       WHERE j.id = $1 AND j.status = 'queued' AND c.status = 'pending' AND c.taken_at IS NULL`,
      [jobId],
      'undelivered_run',
    );
    if (!job) {
      setWaitingReasonOfJobs(tx, { agentId: agent.agentId, except: jobId, reason: 'agent_busy' });
      markJobsHeldUp(tx, agent);
      return decideNoAction(`job ${jobId} occupies the agent`, jobId);
    }
    const missing = job.secrets.length ? await findMissingSecrets(tx, agent.organizationId, job.secrets) : [];
    const decision = missing.length
      ? decideFailureForMissingSecrets(missing)
      : decideMachineReadiness(agent, {
          autoWake: agent.autoWake,
          wakeRestsUntil: await this.findWakeRestEnd(tx, agent),
        });
    if (decision.action === 'start') {
      const late = Number(agent.dispatchedAt) + this.config.dispatchDeadlineMs < this.clock.now().getTime();
      // The agent is online but has not acknowledged the command, so its queued jobs show that they wait for the agent.
      if (late) setWaitingReasonOfJobs(tx, { agentId: agent.agentId, reason: 'agent_offline' });
      const outcome = { action: 'resume', reason: 'the command is delivered again', jobId } as const;
      return { outcome, commandId: job.commandId };
    }
    if (decision.action === 'fail') {
      const { organizationId } = agent;
      const { reason: error, code: errorCode } = decision;
      tx.requireOwnConnection();
      const [locked] = await tx.query(`${lockJob} SKIP LOCKED`, [jobId, organizationId], 'lock_job_to_fail');
      if (!locked) throw new NextJobLocked(jobId);
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
    await this.recordWaitOrRequestWake(tx, agent, job, decision);
    return { outcome: { action: decision.action, reason: decision.reason, jobId } };
  }
}

const startJob = buildRowStatements(
  'start_job',
  { agent_id: 'uuid', job_id: 'uuid', command_id: 'uuid', why: 'text' },
  (rows) => `
  WITH slot AS (
    ${assignJobsToMachinesSql(rows)})
  UPDATE job SET command_id = input.command_id, dispatched_at = muster_now(), waiting_reason = NULL, waiting_since = NULL,
    agent_id = input.agent_id, placement_why = input.why,
    placed_at = CASE WHEN input.why IS NOT NULL THEN muster_now() END
  FROM ${rows} WHERE job.id = input.job_id`,
);

/** Sets the waiting reason of the agent's jobs that wait for concurrency keys or accounts. */
function markJobsHeldUp(tx: Transaction, { agentId, keyed, borrows }: AgentFacts): void {
  if (keyed) markJobsWaitingForKeys(tx, agentId);
  if (borrows) markJobsWaitingForAccounts(tx, agentId);
}

function getScriptToRun({ workflowName: name, script, steps }: HeadJob): string | null {
  return buildScriptToRun({ name, script, steps: steps ?? [] });
}

function decideNoAction(reason: string, jobId?: string): Decided {
  return { outcome: { action: 'none', reason, jobId } };
}

function getStartSource({
  scheduleId,
  retryOf,
}: {
  scheduleId: string | null;
  retryOf: string | null;
}): LifecycleSource {
  return retryOf ? 'retry' : scheduleId ? 'schedule' : 'dispatcher';
}
