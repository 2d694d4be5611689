import { Body, Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutation, MutationRequest, Mutations, OrganizationId, sessionsAndKeysOf } from '@muster/access';
import {
  actionKinds,
  composeBuilderCommand,
  explainingBlocked,
  findFunction,
  loadAgent,
  readCommandStatus,
  runCommand,
} from '@muster/agents';
import {
  invalidField,
  BuilderStarted,
  type CommandKind,
  CommandStarted,
  CommandStatus,
  CommandStatusQuery,
  type ErrorCode,
  RunBuilderBody,
  RunFunctionBody,
  RunSnippetBody,
} from '@muster/contracts';
import { Database, type Transaction } from '@muster/database';
import { resolveLineage } from '@muster/packs';
import { Clock, Outbound, OutboundRefused } from '@muster/platform';
import { VmConfig } from '@muster/vm';

const defaultTimeoutMs = 600_000;
const statusKinds: readonly CommandKind[] = ['snippet', 'function', 'builder', 'script', ...actionKinds];
const errors: ErrorCode[] = ['agent_not_found', 'agent_not_ready'];

interface Wanted<Started> {
  kind: CommandKind;
  payload: Record<string, unknown>;
  env?: Record<string, string>;
  timeoutMs?: number;
  /** What the answer has beside the command's id. */
  answer: Started;
}

/** Code that a person or a program wants run on an agent. Each answers at once; the status call tells the rest. */
@ApiTags('Commands')
@Controller('/api/agents/:id')
export class AgentCommandsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Outbound) private readonly outbound: Outbound,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(VmConfig) private readonly vm: VmConfig,
  ) {}

  @Post('/run-snippet')
  @Endpoint({
    summary: 'Run a Python snippet',
    description: 'A stopped agent is woken for it, where the organization allows that.',
    access: sessionsAndKeysOf('member'),
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
    return this.start(mutation, agentId, () => ({
      kind: 'snippet',
      payload: { code, timeoutMs },
      timeoutMs,
      answer: {},
    }));
  }

  @Get('/run-snippet/status')
  @Endpoint({
    summary: 'How a command stands',
    description: 'Any whose id an answer named: of a snippet, a function, a builder phase, a script, an action.',
    access: sessionsAndKeysOf('viewer'),
    answer: CommandStatus,
    errors: ['invalid_payload', 'agent_not_found', 'not_found'],
  })
  status(
    @OrganizationId() organizationId: string,
    @Param('id') agentId: string,
    @Query() { commandId }: CommandStatusQuery,
  ): Promise<CommandStatus> {
    return readCommandStatus(this.database, { organizationId, agentId, commandId }, statusKinds);
  }

  @Post('/run-function')
  @Endpoint({
    summary: 'Run a kept function',
    access: sessionsAndKeysOf('member'),
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
    return this.start(mutation, agentId, async (tx, organizationId) => {
      if ((functionId === undefined) === (name === undefined)) {
        const message = 'give either functionId or name';
        throw invalidField('functionId', message, 'Say which function: functionId or name.');
      }
      const found = await findFunction(tx, organizationId, { id: functionId, name });
      const payload = { functionId: found.id, name: found.name, code: found.code, args };
      return { kind: 'function', payload, answer: {} };
    });
  }

  @Post('/builder/run')
  @Endpoint({
    summary: 'Run a builder phase',
    access: sessionsAndKeysOf('member'),
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
    if (body.serviceBaseUrl) await this.requireCallable(body.serviceBaseUrl);
    return this.start(mutation, agentId, async (tx, organizationId) => {
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

  private start<Started extends object>(
    mutation: MutationRequest,
    agentId: string,
    compose: (tx: Transaction, organizationId: string) => Wanted<Started> | Promise<Wanted<Started>>,
  ): Promise<CommandStarted & Started> {
    const work = this.mutations.run(mutation, async (tx, caller) => {
      const { organizationId } = caller;
      // First of all: what else is wrong with a request is nobody's business whose agent it is not.
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
    return explainingBlocked(this.database, work);
  }

  private async requireCallable(serviceBaseUrl: string): Promise<void> {
    try {
      await this.outbound.check(serviceBaseUrl);
    } catch (error) {
      if (!(error instanceof OutboundRefused)) throw error;
      const { message } = error;
      throw invalidField('serviceBaseUrl', `serviceBaseUrl: ${message}`, `serviceBaseUrl is refused: ${message}.`);
    }
  }
}
