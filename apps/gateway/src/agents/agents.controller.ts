import { Body, Controller, Delete, Get, Inject, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Endpoint,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  allowSessionsAndKeys,
  allowSessions,
} from '@muster/access';
import {
  createAgent,
  findAgent,
  parseAgentOrder,
  listAgents,
  readIdleSavings,
  readMachineTime,
  requireOwnMachine,
  updateAgent,
} from '@muster/machines';
import {
  Agent,
  AgentList,
  AgentQuery,
  CreateAgentBody,
  CreatedAgent,
  IdleSavings,
  MachineTime,
  MachineTimeQuery,
  TerminateAgentQuery,
  UpdateAgentBody,
} from '@muster/contracts';
import { Database, getPositionValues } from '@muster/database';
import { terminateAgentAndRuns } from '@muster/jobs';
import { Clock, parsePage, buildPage } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { Machines, VmConfig } from '@muster/vm';
import { presentAgents, presentChangedAgent } from '@muster/schedules';

@ApiTags('Agents')
@Controller('/api/agents')
export class AgentsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(VmConfig) private readonly vm: VmConfig,
    @Inject(Machines) private readonly machines: Machines,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List agents',
    access: allowSessionsAndKeys('agents.read'),
    answer: AgentList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: AgentQuery): Promise<AgentList> {
    const page = parsePage(query, ...parseAgentOrder(query.sort).cursor);
    const rows = await listAgents(this.database, organizationId, query, page);
    const { items, nextCursor } = buildPage(rows, page, getPositionValues);
    const now = this.clock.now();
    return { agents: await presentAgents(this.database, organizationId, { rows: items, now }), nextCursor };
  }

  @Post()
  @Endpoint({
    summary: 'Create an agent',
    description:
      'The response contains the worker key, which is never shown again. An agent with the provider `local` starts ' +
      'at once and is rejected unless LOCAL_AGENTS is set.',
    access: allowSessions('agents.admin'),
    unsuspended: true,
    body: CreateAgentBody,
    answer: CreatedAgent,
    status: 201,
    errors: ['conflict'],
    idempotent: true,
  })
  create(@Mutation() mutation: MutationRequest, @Body() body: CreateAgentBody): Promise<CreatedAgent> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const { agent, workerKey } = await createAgent(tx, this.keyRing, caller, body, this.vm);
      const answer: CreatedAgent = { agent: await presentChangedAgent(tx, agent, this.clock.now()), workerKey };
      return { body: answer, location: `/api/agents/${agent.id}` };
    });
  }

  @Get('/:id')
  @Endpoint({
    summary: 'Read an agent',
    access: allowSessionsAndKeys('agents.read'),
    answer: Agent,
    errors: ['invalid_payload', 'agent_not_found'],
  })
  async read(@OrganizationId() organizationId: string, @Param('id') id: string): Promise<Agent> {
    const agent = await findAgent(this.database, organizationId, id);
    const now = this.clock.now();
    const [answer] = await presentAgents(this.database, organizationId, { rows: [agent], now });
    return answer!;
  }

  @Get('/:id/savings')
  @Endpoint({
    summary: 'Read how much idle time an agent’s stop policy saves',
    description:
      'Returns the machine hours and costs that the idleStopPolicy `adaptive` saved in the last 30 days. For the ' +
      'times when the policy was `fixed`, returns what `adaptive` would have saved.',
    access: allowSessionsAndKeys('costs.read'),
    answer: IdleSavings,
    errors: ['invalid_payload', 'agent_not_found'],
  })
  async savings(@OrganizationId() organizationId: string, @Param('id') id: string): Promise<IdleSavings> {
    await findAgent(this.database, organizationId, id);
    return readIdleSavings(this.database, organizationId, { from: null, to: null, agentId: id });
  }

  @Get('/:id/machine-time')
  @Endpoint({
    summary: 'Read an agent’s machine time by day',
    description:
      'Returns for each day how long the machine was on, used by runs, idle and off. By default, the period is the ' +
      'last 30 days.',
    access: allowSessionsAndKeys('costs.read'),
    answer: MachineTime,
    errors: ['invalid_payload', 'agent_not_found'],
  })
  async machineTime(
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
    @Query() query: MachineTimeQuery,
  ): Promise<MachineTime> {
    await findAgent(this.database, organizationId, id);
    return readMachineTime(this.database, organizationId, { agentId: id, query });
  }

  @Patch('/:id')
  @Endpoint({
    summary: 'Rename or relabel an agent',
    access: allowSessions('agents.admin'),
    body: UpdateAgentBody,
    answer: Agent,
    errors: ['agent_not_found', 'conflict'],
  })
  update(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() body: UpdateAgentBody,
  ): Promise<Agent> {
    return this.mutations.runMutation(mutation, async (tx, caller) => ({
      body: await presentChangedAgent(tx, await updateAgent(tx, caller, id, body), this.clock.now()),
    }));
  }

  @Delete('/:id')
  @Endpoint({
    summary: 'Terminate an agent and its machine',
    description:
      'The agent’s keys are revoked after its machine is gone. While a job runs on the agent, `force` is required. ' +
      'With `force`, a machine that does not carry the organization’s tag or label is left unchanged.',
    access: allowSessions('agents.admin'),
    sensitive: true,
    status: 204,
    errors: ['invalid_payload', 'agent_not_found', 'agent_not_ready', 'machine_not_ours'],
  })
  async terminate(
    @Mutation() mutation: MutationRequest,
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
    @Query() { force }: TerminateAgentQuery,
  ): Promise<void> {
    const { database, machines, keyRing, clock } = this;
    if (force !== 'true') await requireOwnMachine({ database, machines, keyRing, clock }, organizationId, id);
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await terminateAgentAndRuns(tx, caller, id, { force: force === 'true' });
      return { body: undefined };
    });
  }
}
