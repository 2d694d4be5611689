import { Body, Controller, Inject, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutation, MutationRequest, Mutations, type Principal, allowSessionsAndKeys } from '@muster/access';
import { loadAgent, type TouchedJobs, undrainAgent } from '@muster/machines';
import { DrainAnswer, DrainBody } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { drainAgentAndRuns } from '@muster/jobs';
import { Clock } from '@muster/platform';
import { presentChangedAgent } from '@muster/schedules';

@ApiTags('Agents')
@Controller('/api/agents/:id')
export class AgentDrainController {
  constructor(
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Post('/drain')
  @Endpoint({
    summary: 'Drain an agent',
    description:
      'The agent accepts no new work until it is undrained, even if its machine restarts. Its machine stays on. ' +
      'With mode `finish`, a running job is completed. With mode `now`, the request fails while a job runs, unless ' +
      '`force` is set. With `force`, the job fails with the errorCode `agent_stopped`.',
    access: allowSessionsAndKeys('agents.control'),
    body: DrainBody,
    answer: DrainAnswer,
    errors: ['agent_not_found', 'agent_not_ready'],
  })
  drain(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() { mode, force }: DrainBody,
  ): Promise<DrainAnswer> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const touched = await drainAgentAndRuns(tx, caller, id, { mode, force, now: this.clock.now() });
      return { body: await this.presentDrain(tx, caller, id, touched) };
    });
  }

  @Post('/undrain')
  @Endpoint({
    summary: 'Undrain an agent',
    description: 'The agent accepts new work again.',
    access: allowSessionsAndKeys('agents.control'),
    answer: DrainAnswer,
    errors: ['invalid_payload', 'agent_not_found'],
  })
  undrain(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<DrainAnswer> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const touched = await undrainAgent(tx, caller, id);
      return { body: await this.presentDrain(tx, caller, id, touched) };
    });
  }

  private async presentDrain(
    tx: Transaction,
    { organizationId }: Principal,
    id: string,
    touched: TouchedJobs,
  ): Promise<DrainAnswer> {
    const agent = await presentChangedAgent(tx, await loadAgent(tx, organizationId, id), this.clock.now());
    return { agent, ...touched };
  }
}
