import { Inject, Injectable } from '@nestjs/common';
import { audit, isWorkerKeyOf, type Principal, requireUnsuspended, spokenNameOf, sourceOf } from '@muster/access';
import {
  beginRecording,
  endRecording,
  findAgent,
  loadAgent,
  rebootAgent,
  requestWake,
  requireGoingOn,
  requireOwnMachine,
  requireSwitch,
  requireWakeable,
  sealPayload,
  startAgent,
  startCommand,
  stopAgent,
  terminateAgent,
  waitForWake,
} from '@muster/agents';
import {
  type AgentAction,
  type AgentActionAnswer,
  type AgentActionBody,
  type AgentStatus,
  AppError,
  type CommandKind,
  hasRole,
  type JobStatus,
} from '@muster/contracts';
import { Database, type Transaction } from '@muster/database';
import { cancelJob, failAgentsRuns, findJob, launchJob } from '@muster/jobs';
import { Clock, newId, PubSub, OpenStreams } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { Machines, VmConfig } from '@muster/vm';
import type { FastifyRequest } from 'fastify';

export interface Acted {
  answer: AgentActionAnswer;
  location?: string;
  /** What the answer has to wait for. */
  wakeId?: string;
}

/** Actions that turn a machine on or off. */
const switches: ReadonlySet<AgentAction> = new Set(['start', 'stop', 'reboot', 'terminate', 'start_job']);
/** What a suspended organization may not begin. A reboot starts a machine that is off. */
const beginnings: ReadonlySet<AgentAction> = new Set(['start', 'start_job', 'start_recording', 'attach_recording']);
const off: readonly AgentStatus[] = ['stopped', 'stopping'];
const commandTimeoutMs = 120_000;
/** The film is sent before it is answered, and the worker takes a quarter of an hour for that at most. */
const stopRecordingTimeoutMs = 20 * 60_000;
/** The wake ends by its own deadline; this is for the case that nobody is there to end it. */
const patienceMs = 15_000;

/** The eleven actions, each as one use case of its domain. */
@Injectable()
export class AgentActions {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(PubSub) private readonly pubSub: PubSub,
    @Inject(OpenStreams) private readonly streams: OpenStreams,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(VmConfig) private readonly vm: VmConfig,
    @Inject(Machines) private readonly machines: Machines,
  ) {}

  /** What can be said of the machine before anything is written. */
  async check(caller: Principal, id: string, { action, force = false }: AgentActionBody): Promise<void> {
    const begins =
      beginnings.has(action) ||
      (caller.organizationSuspended &&
        action === 'reboot' &&
        off.includes(await this.statusOf(caller.organizationId, id)));
    if (begins) requireUnsuspended(caller);
    if (!switches.has(action) || (action === 'terminate' && (force || !hasRole(caller.role, 'admin')))) return;
    const { database, machines, keyRing, clock } = this;
    await requireOwnMachine({ database, machines, keyRing, clock }, caller.organizationId, id);
  }

  async act(tx: Transaction, caller: Principal, id: string, body: AgentActionBody): Promise<Acted> {
    const { action } = body;
    const done = (status: AgentStatus, more: Partial<AgentActionAnswer> = {}): Acted => ({
      answer: { success: true, action, status, ...more },
    });
    switch (action) {
      case 'start':
        return done((await startAgent(tx, caller, id, this.vm.wakeTimeoutMs)).status);
      case 'stop':
        return done((await this.stop(tx, caller, id, body)).status);
      case 'reboot':
        return done((await this.reboot(tx, caller, id)).status);
      case 'terminate':
        await this.terminate(tx, caller, id, body);
        return done('terminated');
      case 'start_job':
        return this.startJob(tx, caller, id, body);
      case 'stop_job': {
        const agent = await loadAgent(tx, caller.organizationId, id);
        const jobId = needed(body, 'jobId');
        await this.jobOf(caller, id, jobId);
        await cancelJob(tx, caller, jobId, { reason: body.reason, now: this.clock.now() });
        return done(agent.status, { jobId });
      }
      case 'repair': {
        const apiKey = await this.keyToRepair(tx, caller, id, body);
        const { provider, status, currentJobId, running } = await loadAgent(tx, caller.organizationId, id, 'lock');
        // Its worker may not be heard for its key; the service begins it anew with one that holds.
        if (provider === 'local' && status === 'offline' && !currentJobId && !running) {
          await rebootAgent(tx, caller, id);
        }
        return this.command(tx, caller, id, body, sealPayload(this.keyRing, id, { apiKey }));
      }
      case 'start_recording': {
        const recordingId = newId();
        const { name, kind, startUrl } = body;
        if (kind === 'screen' && startUrl) throw invalid('startUrl', 'startUrl is for a recording of the kind browser');
        const asked = { ...(name ? { name } : {}), ...(kind ? { kind } : {}), ...(startUrl ? { startUrl } : {}) };
        const payload = { recordingId, ...asked };
        const started = await this.command(tx, caller, id, body, payload, { recordingId });
        beginRecording(tx, { organizationId: caller.organizationId, agentId: id, recordingId }, asked);
        return started;
      }
      case 'attach_recording':
      case 'stop_recording': {
        const recordingId = needed(body, 'recordingId');
        const of = { organizationId: caller.organizationId, agentId: id, recordingId };
        await (action === 'stop_recording' ? endRecording(tx, of) : requireGoingOn(tx, of));
        return this.command(tx, caller, id, body, { recordingId }, { recordingId });
      }
      case 'deploy_extension': {
        const { key } = body;
        return this.command(tx, caller, id, body, { version: needed(body, 'version'), ...(key ? { key } : {}) });
      }
    }
  }

  /** The status once the wake has worked; otherwise the error that says how it ended. The job stays queued. */
  async awaitWake(
    request: FastifyRequest,
    wake: { organizationId: string; agentId: string; wakeId: string; jobId: string },
  ): Promise<AgentStatus> {
    const { jobId, organizationId } = wake;
    const leaving = new AbortController();
    const leave = () => leaving.abort();
    const timer = setTimeout(leave, this.vm.wakeTimeoutMs + patienceMs);
    const remove = this.streams.add(leave, 'wake');
    request.raw.socket.once('close', leave);
    try {
      const end = await waitForWake({ database: this.database, pubSub: this.pubSub }, wake, leaving.signal);
      if (end?.state === 'ready') return 'online';
      const rest = `The job stays queued and starts once the agent is on.`;
      if (end === null || end.state === 'timeout') {
        throw new AppError('execution_timeout', {
          detail: `The agent was not on in time. ${rest}`,
          extra: { jobId, agentStatus: await this.statusOf(organizationId, wake.agentId) },
        });
      }
      throw new AppError('agent_not_woken', {
        detail: `The agent could not be woken: ${end.error ?? end.state} ${rest}`,
        extra: { jobId, agentStatus: await this.statusOf(organizationId, wake.agentId) },
      });
    } finally {
      clearTimeout(timer);
      remove();
      request.raw.socket.off('close', leave);
    }
  }

  private async stop(tx: Transaction, caller: Principal, id: string, { force }: AgentActionBody) {
    const answer = await stopAgent(tx, caller, id, { force });
    const error = 'The agent was stopped.';
    if (force) await failAgentsRuns(tx, caller, id, { errorCode: 'agent_stopped', error });
    return answer;
  }

  private async reboot(tx: Transaction, caller: Principal, id: string) {
    const answer = await rebootAgent(tx, caller, id);
    await failAgentsRuns(tx, caller, id, { errorCode: 'agent_rebooted', error: 'The agent was rebooted.' });
    return answer;
  }

  private async terminate(tx: Transaction, caller: Principal, id: string, { force }: AgentActionBody): Promise<void> {
    if (!hasRole(caller.role, 'admin')) {
      throw new AppError('permission_denied', { detail: 'Terminating an agent needs the role admin.' });
    }
    requireSwitch(await loadAgent(tx, caller.organizationId, id, 'lock'), 'terminated');
    await terminateAgent(tx, caller, id, { force });
    const error = 'The agent was terminated.';
    if (force) await failAgentsRuns(tx, caller, id, { errorCode: 'agent_stopped', error });
  }

  /** Queues the job, or takes a queued one, and wakes the agent for it where that is allowed. */
  private async startJob(tx: Transaction, caller: Principal, id: string, body: AgentActionBody): Promise<Acted> {
    const { organizationId } = caller;
    const agent = await loadAgent(tx, organizationId, id, 'lock');
    requireOne(body);
    if (agent.status === 'terminated') {
      const extra = { agentStatus: agent.status };
      throw new AppError('agent_not_ready', { detail: 'The agent is terminated.', extra });
    }
    // First, as what is wrong with the request is wrong in every state of the machine.
    const jobId = await this.jobToStart(tx, caller, id, body);
    const { status } = await requireWakeable(tx, { organizationId, agentId: id }, 'run');
    const isOn = status === 'online';
    await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId: id } });
    const answer: AgentActionAnswer = { success: true, action: 'start_job', status, jobId };
    const location = `/api/jobs/${jobId}`;
    if (isOn) return { answer, location };
    const { wakeId } = await requestWake(tx, {
      organizationId,
      agentId: id,
      jobId,
      source: sourceOf(caller),
      reason: 'a job is to start',
      timeoutMs: this.vm.wakeTimeoutMs,
    });
    return { answer, location, wakeId };
  }

  private async jobToStart(tx: Transaction, caller: Principal, id: string, body: AgentActionBody): Promise<string> {
    const { jobId, workflowId, variables } = body;
    if (workflowId) {
      const input = { workflowId, agentId: id, ...(variables ? { variables } : {}) };
      return (await launchJob(tx, caller, input, this.clock.now())).jobId;
    }
    const { status } = await this.jobOf(caller, id, jobId!);
    if (status !== 'queued') throw new AppError('conflict', { detail: `The job is ${status} and cannot be started.` });
    audit(tx, caller, { action: 'job.start', target: { type: 'job', id: jobId! }, changes: { agentId: id } });
    return jobId!;
  }

  /** A wrong key would shut the machine out for good, so it is not even sent. */
  private async keyToRepair(tx: Transaction, caller: Principal, id: string, body: AgentActionBody): Promise<string> {
    const { organizationId } = caller;
    await loadAgent(tx, organizationId, id);
    const apiKey = needed(body, 'apiKey');
    if (await isWorkerKeyOf(tx, apiKey, { organizationId, agentId: id, now: this.clock.now() })) return apiKey;
    throw invalid('apiKey', 'apiKey must be a live worker key of this organization, for this agent or for any');
  }

  private async command(
    tx: Transaction,
    caller: Principal,
    id: string,
    { action, reason }: AgentActionBody,
    payload: Record<string, unknown>,
    more: Partial<AgentActionAnswer> = {},
  ): Promise<Acted> {
    const { organizationId } = caller;
    const commandId = await startCommand(tx, {
      organizationId,
      agentId: id,
      kind: action as CommandKind,
      payload,
      asked: { source: sourceOf(caller), by: spokenNameOf(caller), reason },
      timeoutMs: action === 'stop_recording' ? stopRecordingTimeoutMs : commandTimeoutMs,
      wakeTimeoutMs: this.vm.wakeTimeoutMs,
      now: this.clock.now(),
    });
    const { recordingId } = more;
    audit(tx, caller, {
      action: `agent.${action}`,
      target: { type: 'agent', id },
      changes: { commandId, ...(recordingId ? { recordingId } : {}) },
    });
    const { status } = await loadAgent(tx, organizationId, id);
    return { answer: { success: true, action, status, commandId, ...more } };
  }

  private async statusOf(organizationId: string, agentId: string): Promise<AgentStatus> {
    return (await findAgent(this.database, organizationId, agentId)).status;
  }

  private async jobOf(caller: Principal, agentId: string, jobId: string): Promise<{ status: JobStatus }> {
    const job = await findJob(this.database, caller.organizationId, jobId);
    if (job.agentId !== agentId) throw new AppError('not_found', { detail: 'The agent has no such job.' });
    return job;
  }
}

function needed(body: AgentActionBody, field: 'jobId' | 'apiKey' | 'recordingId' | 'version'): string {
  const value = body[field];
  if (value === undefined) throw invalid(field, `${body.action} needs ${/^[aeiou]/.test(field) ? 'an' : 'a'} ${field}`);
  return value;
}

function requireOne({ jobId, workflowId }: AgentActionBody): void {
  if (!jobId && !workflowId) {
    throw invalid('workflowId', 'start_job needs a workflowId, or the jobId of a queued job');
  }
  if (workflowId && jobId) throw invalid('jobId', 'start_job takes a workflowId or a jobId, not both');
}

function invalid(field: string, message: string): AppError {
  return new AppError('invalid_payload', { detail: `${message}.`, errors: [{ field, message }] });
}
