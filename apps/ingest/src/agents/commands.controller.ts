import type { Socket } from 'node:net';
import { Body, Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Caller, Endpoint, type Principal, workers } from '@muster/access';
import { acknowledgeCommand, CommandPolls, storeCommandOutput, storeCommandResult } from '@muster/commands';
import { requireOwnAgent } from '@muster/machines';
import {
  AgentCommandList,
  CommandOutputBody,
  CommandPollQuery,
  CommandReceipt,
  CommandResultBody,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock, Connection, OpenStreams, Reply, ReplyHead } from '@muster/platform';

/** Delivers commands to workers that poll, and receives the results of all workers. */
@ApiTags('Machines')
@Controller('/api/agents/:id/commands')
export class CommandsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CommandPolls) private readonly polls: CommandPolls,
    @Inject(OpenStreams) private readonly streams: OpenStreams,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get()
  @Endpoint({
    summary: 'Poll for pending commands',
    description:
      'Each response contains a command until it is acknowledged or its result is reported. Never start the same ' +
      'command twice. The header X-Service-Time is the service’s clock, in milliseconds since 1970; the deadlines of ' +
      'the commands refer to it.',
    access: workers,
    answer: AgentCommandList,
    errors: ['invalid_payload', 'agent_not_found', 'conflict'],
    waits: true,
  })
  async poll(
    @Reply() reply: ReplyHead,
    @Connection() connection: Socket,
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Query() { wait = 0 }: CommandPollQuery,
  ): Promise<AgentCommandList> {
    requireOwnAgent(caller, agentId);
    const commands = await this.streams.runWaiting(connection, 'commands', async (ended) => {
      const taken = await this.polls.pollCommands(caller.organizationId, agentId, wait * 1000, ended);
      if (ended.aborted) reply.closeConnection();
      return taken;
    });
    reply.setHeaders({ 'x-service-time': String(this.clock.now().getTime()) });
    return { commands };
  }

  @Post('/:commandId/ack')
  @Endpoint({
    summary: 'Acknowledge a command',
    access: workers,
    answer: CommandReceipt,
    errors: ['invalid_payload', 'not_found'],
  })
  acknowledge(
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Param('commandId') commandId: string,
  ): Promise<CommandReceipt> {
    requireOwnAgent(caller, agentId);
    const { organizationId } = caller;
    return acknowledgeCommand(this.database, { organizationId, agentId, commandId });
  }

  @Post('/:commandId/output')
  @Endpoint({
    summary: 'Report a command’s output so far',
    description: 'The output is shown with the status of the command until its result replaces it.',
    access: workers,
    body: CommandOutputBody,
    answer: CommandReceipt,
    errors: ['not_found'],
  })
  output(
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Param('commandId') commandId: string,
    @Body() { output }: CommandOutputBody,
  ): Promise<CommandReceipt> {
    requireOwnAgent(caller, agentId);
    const { organizationId } = caller;
    return storeCommandOutput(this.database, { organizationId, agentId, commandId }, output);
  }

  @Post('/:commandId/result')
  @Endpoint({
    summary: 'Report a command’s result',
    description: 'The first result is stored. Each later result is ignored and answered with `accepted` false.',
    access: workers,
    body: CommandResultBody,
    // The output can be a text of 4 MiB. The limit is higher, because JSON escapes quotes and line ends.
    bodyLimit: 10 * 1024 * 1024,
    answer: CommandReceipt,
    errors: ['not_found'],
  })
  result(
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Param('commandId') commandId: string,
    @Body() body: CommandResultBody,
  ): Promise<CommandReceipt> {
    requireOwnAgent(caller, agentId);
    const { organizationId } = caller;
    return storeCommandResult(this.database, { organizationId, agentId, commandId }, body);
  }
}
