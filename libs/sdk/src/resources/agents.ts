import {
  type Agent,
  agentActionsAct,
  agentActionsStatus,
  agentCommandsRunSnippet,
  agentCommandsStatus,
  agentDrainDrain,
  agentDrainUndrain,
  type AgentList,
  agentsCreate,
  agentsList,
  type AgentsListData,
  agentsRead,
  agentsTerminate,
  agentsUpdate,
  type CommandStatus,
  type CreateAgentBody,
  type RunSnippetBody,
  type UpdateAgentBody,
} from '../generated';
import { type AgentEvent, followEvents, type FollowOptions } from '../follow-events';
import { readAgentLog, type LogOptions } from '../follow-log';
import { List } from '../list';
import { MusterError } from '../muster-error';
import { type CallOptions, Resource } from '../resource';
import { sleep } from '../sleep';

interface Forced extends CallOptions {
  /** Whether to proceed if a run is in progress. The run then fails. */
  force?: boolean;
}

/** Agents, the worker machines. */
export class Agents extends Resource {
  list(query: Omit<NonNullable<AgentsListData['query']>, 'cursor'> = {}, call?: CallOptions): List<Agent, AgentList> {
    return new List(
      (page) => agentsList({ ...this.with(call), query: { ...query, ...page } }),
      ({ agents }) => agents,
    );
  }

  get(id: string, call?: CallOptions): Promise<Agent> {
    return agentsRead({ ...this.with(call), path: { id } });
  }

  status(id: string, call?: CallOptions) {
    return agentActionsStatus({ ...this.with(call), path: { id } });
  }

  /** Creates an agent. Only this response contains the worker key. Requires an admin's session. */
  create(body: CreateAgentBody, call?: CallOptions) {
    return agentsCreate({ ...this.with(call), body });
  }

  update(id: string, body: UpdateAgentBody, call?: CallOptions) {
    return agentsUpdate({ ...this.with(call), path: { id }, body });
  }

  terminate(id: string, { force, ...call }: Forced = {}) {
    return agentsTerminate({ ...this.with(call), path: { id }, query: force ? { force: 'true' } : {} });
  }

  start(id: string, call?: CallOptions) {
    return agentActionsAct({ ...this.with(call), path: { id }, body: { action: 'start' } });
  }

  stop(id: string, { force, ...call }: Forced = {}) {
    return agentActionsAct({ ...this.with(call), path: { id }, body: { action: 'stop', ...(force ? { force } : {}) } });
  }

  reboot(id: string, call?: CallOptions) {
    return agentActionsAct({ ...this.with(call), path: { id }, body: { action: 'reboot' } });
  }

  /** Waits until the agent has this status. Throws `wait_timeout` after `timeoutMs`, by default two minutes. */
  async waitFor(
    id: string,
    status: Agent['status'],
    { timeoutMs = 120_000, ...call }: CallOptions & { timeoutMs?: number } = {},
  ): Promise<void> {
    const until = Date.now() + timeoutMs;
    for (let waitMs = 200; (await this.status(id, call)).status !== status; waitMs = Math.min(2000, waitMs * 1.5)) {
      const leftMs = until - Date.now();
      if (leftMs <= 0) {
        throw new MusterError(0, {
          code: 'wait_timeout',
          detail: `The agent did not reach the status ${status} within ${timeoutMs} ms.`,
        });
      }
      await sleep(Math.min(waitMs, leftMs), call.signal);
    }
  }

  /**
   * Stops starting new runs on an agent. The mode `finish` lets a run in progress finish. The mode `now` fails if a run
   * is in progress, unless `force` is set, which ends the run.
   */
  drain(id: string, mode: 'finish' | 'now' = 'finish', { force, ...call }: Forced = {}) {
    return agentDrainDrain({ ...this.with(call), path: { id }, body: { mode, ...(force ? { force } : {}) } });
  }

  undrain(id: string, call?: CallOptions) {
    return agentDrainUndrain({ ...this.with(call), path: { id } });
  }

  /** Runs Python code on an agent, waits until it ends and returns its output. */
  async runSnippet(id: string, body: RunSnippetBody, call?: CallOptions): Promise<CommandStatus> {
    const { commandId } = await agentCommandsRunSnippet({ ...this.with(call), path: { id }, body });
    for (let waitMs = 150; ; waitMs = Math.min(2000, waitMs * 1.5)) {
      const { signal } = this.with(call);
      const command = await agentCommandsStatus({ client: this.client, signal, path: { id }, query: { commandId } });
      if (command.status !== 'pending') return command;
      await sleep(waitMs, signal);
    }
  }

  /** Streams the events of an agent until the signal aborts. Reconnects if the connection is lost. */
  events(id: string, options?: FollowOptions): AsyncGenerator<AgentEvent, void, undefined> {
    return followEvents(this.client, id, options);
  }

  /** Returns the last `lines` log lines of an agent (default 50), then new lines if `follow` is set. */
  logs(id: string, options?: LogOptions & { lines?: number }) {
    return readAgentLog(this.client, id, options);
  }
}
