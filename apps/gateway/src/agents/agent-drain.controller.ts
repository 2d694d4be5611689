import { Body, Controller, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutations, type Principal, sessionsAndKeysOf } from '@muster/access';
import { drainAgent, loadAgent, type TouchedJobs, undrainAgent } from '@muster/agents';
import { DrainAnswer, DrainBody } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { stopAgentsJobs } from '@muster/jobs';
import { Clock } from '@muster/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { presentAgent } from './present-agent';

@ApiTags('Agents')
@Controller('/api/agents/:id')
export class AgentDrainController {
  constructor(
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Post('/drain')
  @Endpoint({
    summary: 'Let an agent take nothing new',
    description:
      'It is draining until it is let go again, over restarts of its machine too. Idle stop leaves it on. With mode ' +
      'now, what it has is told to stop, and is cancelled once the agent says that nothing of it runs.',
    access: sessionsAndKeysOf('member'),
    body: DrainBody,
    answer: DrainAnswer,
    errors: ['agent_not_found', 'agent_not_ready'],
  })
  drain(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Param('id') id: string,
    @Body() { mode }: DrainBody,
  ): Promise<unknown> {
    return this.mutations.run(request, reply, async (tx, caller) => {
      const touched = await drainAgent(tx, caller, id, mode);
      if (mode === 'now') {
        const reason = 'the agent is being drained';
        await stopAgentsJobs(tx, caller, touched.running, { reason, now: this.clock.now() });
      }
      return { body: await this.present(tx, caller, id, touched) };
    });
  }

  @Post('/undrain')
  @Endpoint({
    summary: 'Let an agent take jobs again',
    access: sessionsAndKeysOf('member'),
    answer: DrainAnswer,
    errors: ['invalid_payload', 'agent_not_found'],
  })
  undrain(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Param('id') id: string,
  ): Promise<unknown> {
    return this.mutations.run(request, reply, async (tx, caller) => {
      const touched = await undrainAgent(tx, caller, id);
      return { body: await this.present(tx, caller, id, touched) };
    });
  }

  private async present(
    tx: Transaction,
    { organizationId }: Principal,
    id: string,
    touched: TouchedJobs,
  ): Promise<DrainAnswer> {
    return { agent: presentAgent(await loadAgent(tx, organizationId, id), this.clock.now()), ...touched };
  }
}
