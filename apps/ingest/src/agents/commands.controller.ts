import { Body, Controller, Get, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, principalOf, workers } from '@muster/access';
import { acknowledgeCommand, CommandPolls, receiveResult, requireOwnAgent } from '@muster/agents';
import { AgentCommandList, CommandPollQuery, CommandReceipt, CommandResultBody } from '@muster/contracts';
import { Database } from '@muster/database';
import { OpenStreams } from '@muster/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** How a machine without a tunnel gets its commands, and how every machine gives back what came of them. */
@ApiTags('Machines')
@Controller('/api/agents/:id/commands')
export class CommandsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CommandPolls) private readonly polls: CommandPolls,
    @Inject(OpenStreams) private readonly streams: OpenStreams,
  ) {}

  @Get()
  @Endpoint({
    summary: 'Take the commands that wait',
    description: 'Each is given again until it is acknowledged or has its result; never start an id twice.',
    access: workers,
    answer: AgentCommandList,
    errors: ['invalid_payload', 'agent_not_found', 'conflict'],
    waits: true,
  })
  async poll(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Param('id') agentId: string,
    @Query() { wait = 0 }: CommandPollQuery,
  ): Promise<AgentCommandList> {
    const organizationId = organizationOf(request, agentId);
    const ended = new AbortController();
    const end = () => ended.abort();
    const forget = this.streams.add(end, 'commands');
    request.raw.socket.once('close', end);
    try {
      const commands = await this.polls.take(organizationId, agentId, wait * 1000, ended.signal);
      // A connection that is kept would hold up the end of the process.
      if (ended.signal.aborted) void reply.header('connection', 'close');
      return { commands };
    } finally {
      forget();
      request.raw.socket.off('close', end);
    }
  }

  @Post('/:commandId/ack')
  @Endpoint({
    summary: 'Say that a command was taken',
    access: workers,
    answer: CommandReceipt,
    errors: ['invalid_payload', 'not_found'],
  })
  acknowledge(
    @Req() request: FastifyRequest,
    @Param('id') agentId: string,
    @Param('commandId') commandId: string,
  ): Promise<CommandReceipt> {
    const organizationId = organizationOf(request, agentId);
    return acknowledgeCommand(this.database, { organizationId, agentId, commandId });
  }

  @Post('/:commandId/result')
  @Endpoint({
    summary: 'Give back what came of a command',
    description: 'The first result counts; a repeat is answered with accepted false.',
    access: workers,
    body: CommandResultBody,
    // 4 MiB of text, and what JSON makes of its quotes and line ends.
    bodyLimit: 10 * 1024 * 1024,
    answer: CommandReceipt,
    errors: ['not_found'],
  })
  result(
    @Req() request: FastifyRequest,
    @Param('id') agentId: string,
    @Param('commandId') commandId: string,
    @Body() body: CommandResultBody,
  ): Promise<CommandReceipt> {
    const organizationId = organizationOf(request, agentId);
    return receiveResult(this.database, { organizationId, agentId, commandId }, body);
  }
}

function organizationOf(request: FastifyRequest, agentId: string): string {
  const caller = principalOf(request);
  requireOwnAgent(caller, agentId);
  return caller.organizationId;
}
