import type { Socket } from 'node:net';
import { Body, Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutation, MutationRequest, Mutations, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import {
  actionKinds,
  composeBuilderCommand,
  recordBlockedWakeOnError,
  findFunction,
  listCommands,
  type ListedCommand,
  readCommandStatus,
  runCommand,
  waitForCommand,
} from '@muster/commands';
import { loadAgent } from '@muster/machines';
import {
  invalidFieldError,
  BuilderStarted,
  type CommandEntry,
  CommandHistory,
  type CommandKind,
  CommandQuery,
  CommandStarted,
  CommandStatus,
  type ErrorCode,
  RunBuilderBody,
  RunFunctionBody,
  RunSnippetBody,
  SnippetStatusQuery,
} from '@muster/contracts';
import { Database, type Transaction } from '@muster/database';
import { resolveLineage } from '@muster/packs';
import {
  Clock,
  Connection,
  OpenStreams,
  Outbound,
  OutboundRefused,
  parsePage,
  buildPage,
  PubSub,
} from '@muster/platform';
import { VmConfig } from '@muster/vm';

const defaultTimeoutMs = 600_000;
const statusKinds: readonly CommandKind[] = ['snippet', 'function', 'builder', 'script', ...actionKinds];
const errors: ErrorCode[] = ['agent_not_found', 'agent_not_ready', 'machine_cannot'];

interface Wanted<Started> {
  kind: CommandKind;
  payload: Record<string, unknown>;
  env?: Record<string, string>;
  timeoutMs?: number;
  /** Fields that the response contains in addition to the command's id. */
  answer: Started;
}

/** Runs code on an agent. Each request returns at once; the status operation returns the result of the command. */
@ApiTags('Commands')
@Controller('/api/agents/:id')
export class AgentCommandsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Outbound) private readonly outbound: Outbound,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(VmConfig) private readonly vm: VmConfig,
    @Inject(PubSub) private readonly pubSub: PubSub,
    @Inject(OpenStreams) private readonly streams: OpenStreams,
  ) {}

  @Post('/run-snippet')
  @Endpoint({
    summary: 'Run a Python snippet',
    description: 'Wakes a stopped agent if the organization allows it.',
    access: allowSessionsAndKeys('agents.control'),
    unsuspended: true,
    body: RunSnippetBody,
    answer: CommandStarted,
    status: 202,
    errors,
    idempotent: true,
  })
  runSnippet(
    @Mutation() mutation: MutationRequest,
    @Param('id') agentId: string,
    @Body() { code, timeoutMs }: RunSnippetBody,
  ): Promise<CommandStarted> {
    return this.startCommand(mutation, agentId, () => ({
      kind: 'snippet',
      payload: { code, timeoutMs },
      timeoutMs,
      answer: {},
    }));
  }

  @Get('/run-snippet/status')
  @Endpoint({
    summary: 'Read a command’s status',
    reads: 'command',
    description:
      'Accepts the id of every command that another operation returned: a snippet, a function, a builder phase, a ' +
      'script or an action. With `wait`, the response is delayed until the command has ended or has new output, so ' +
      'that the client need not poll.',
    access: allowSessionsAndKeys('agents.read'),
    answer: CommandStatus,
    errors: ['invalid_payload', 'agent_not_found', 'not_found'],
    waits: true,
  })
  async status(
    @Connection() connection: Socket,
    @OrganizationId() organizationId: string,
    @Param('id') agentId: string,
    @Query() { commandId, wait = 0, seen = 0 }: SnippetStatusQuery,
  ): Promise<CommandStatus> {
    const { database, pubSub } = this;
    const commandRef = { organizationId, agentId, commandId };
    const status = await readCommandStatus(database, commandRef, statusKinds);
    if (wait === 0 || status.status !== 'pending') return status;
    return this.streams.runWaiting(connection, 'commands', (signal) =>
      waitForCommand({ database, pubSub }, commandRef, { waitMs: wait * 1000, signal, seenLength: seen }),
    );
  }

  @Get('/command-history')
  @Endpoint({
    summary: 'List an agent’s commands, newest first',
    access: allowSessionsAndKeys('agents.read'),
    answer: CommandHistory,
    errors: ['invalid_payload', 'agent_not_found'],
  })
  async history(
    @OrganizationId() organizationId: string,
    @Param('id') agentId: string,
    @Query() query: CommandQuery,
  ): Promise<CommandHistory> {
    const page = parsePage(query, 'id');
    const rows = await listCommands(this.database, { organizationId, agentId }, { page, filter: query });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { commands: items.map(presentCommand), nextCursor };
  }

  @Post('/run-function')
  @Endpoint({
    summary: 'Run a saved function',
    access: allowSessionsAndKeys('agents.control'),
    unsuspended: true,
    body: RunFunctionBody,
    answer: CommandStarted,
    status: 202,
    errors: [...errors, 'not_found'],
    idempotent: true,
  })
  runFunction(
    @Mutation() mutation: MutationRequest,
    @Param('id') agentId: string,
    @Body() { functionId, name, args = {} }: RunFunctionBody,
  ): Promise<CommandStarted> {
    return this.startCommand(mutation, agentId, async (tx, organizationId) => {
      if ((functionId === undefined) === (name === undefined)) {
        const message = 'specify exactly one of functionId and name';
        throw invalidFieldError('functionId', message, 'Specify exactly one of functionId and name.');
      }
      const found = await findFunction(tx, organizationId, { id: functionId, name });
      const payload = { functionId: found.id, name: found.name, code: found.code, args };
      return { kind: 'function', payload, answer: {} };
    });
  }

  @Post('/builder/run')
  @Endpoint({
    summary: 'Run the code of a builder phase',
    description:
      'A builder is a set of Python snippets, one for each phase of building a workflow for a portal. Runs the code of ' +
      'the body, or the function builder:<portal>:<phase> that is stored in the service.',
    access: allowSessionsAndKeys('agents.control'),
    unsuspended: true,
    body: RunBuilderBody,
    answer: BuilderStarted,
    status: 202,
    errors,
    idempotent: true,
  })
  async runBuilder(
    @Mutation() mutation: MutationRequest,
    @Param('id') agentId: string,
    @Body() body: RunBuilderBody,
  ): Promise<BuilderStarted> {
    if (body.serviceBaseUrl) await this.requireCallableUrl(body.serviceBaseUrl);
    return this.startCommand(mutation, agentId, async (tx, organizationId) => {
      const { sessionId, runRoot, payload, env } = await composeBuilderCommand(tx, organizationId, body);
      const resolved = await resolveLineage(tx, organizationId, body);
      return {
        kind: 'builder',
        payload: resolved ? { ...payload, bundle: resolved.bundle } : payload,
        env: { ...resolved?.lineage, ...env },
        answer: { sessionId, runRoot },
      };
    });
  }

  private startCommand<Started extends object>(
    mutation: MutationRequest,
    agentId: string,
    compose: (tx: Transaction, organizationId: string) => Wanted<Started> | Promise<Wanted<Started>>,
  ): Promise<CommandStarted & Started> {
    const work = this.mutations.runMutation(mutation, async (tx, caller) => {
      const { organizationId } = caller;
      // The agent is checked first, so that an agent of another organization is always reported as not found.
      await loadAgent(tx, organizationId, agentId);
      const { answer, timeoutMs = defaultTimeoutMs, ...command } = await compose(tx, organizationId);
      const { wakeTimeoutMs } = this.vm;
      const now = this.clock.now();
      const commandId = await runCommand(tx, caller, agentId, { ...command, timeoutMs, wakeTimeoutMs, now });
      return {
        body: { commandId, ...answer },
        location: `/api/agents/${agentId}/run-snippet/status?commandId=${commandId}`,
      };
    });
    return recordBlockedWakeOnError(this.database, work);
  }

  private async requireCallableUrl(serviceBaseUrl: string): Promise<void> {
    try {
      await this.outbound.checkAddress(serviceBaseUrl);
    } catch (error) {
      if (!(error instanceof OutboundRefused)) throw error;
      const { message } = error;
      throw invalidFieldError(
        'serviceBaseUrl',
        `serviceBaseUrl: ${message}`,
        `serviceBaseUrl is not allowed: ${message}.`,
      );
    }
  }
}

function presentCommand({ id, errorCode, ...row }: ListedCommand): CommandEntry {
  const { kind, status, jobId, error, createdAt, takenAt, deadline, finishedAt } = row;
  return {
    commandId: id,
    ...{ kind, status, jobId, error, code: errorCode },
    createdAt: createdAt.toISOString(),
    takenAt: takenAt?.toISOString() ?? null,
    deadline: deadline.toISOString(),
    finishedAt: finishedAt?.toISOString() ?? null,
  };
}
