import { Body, Controller, Get, Inject, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutation, MutationRequest, Mutations, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import { invalidFieldError, LaunchedJob, RunList, RunOnAgentBody } from '@muster/contracts';
import { Database } from '@muster/database';
import { launchJob, listAgentRuns, presentRun } from '@muster/jobs';
import { Clock } from '@muster/platform';
import { KeyRing } from '@muster/vault';

@ApiTags('Agents')
@Controller('/api/agents/:id')
export class AgentRunsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
  ) {}

  @Post('run')
  @Endpoint({
    summary: 'Run a saved workflow on an agent',
    access: allowSessionsAndKeys('runs.write'),
    unsuspended: true,
    body: RunOnAgentBody,
    answer: LaunchedJob,
    status: 202,
    errors: ['not_found', 'agent_not_found', 'nothing_to_run', 'no_pinned_version', 'billing_gate_closed'],
    idempotent: true,
  })
  run(
    @Mutation() mutation: MutationRequest,
    @Param('id') agentId: string,
    @Body() { scriptId, workflowId = scriptId, ...options }: RunOnAgentBody,
  ): Promise<LaunchedJob> {
    if (!workflowId || (scriptId && scriptId !== workflowId)) {
      const message = workflowId ? 'workflowId and scriptId must name the same workflow' : 'workflowId is required';
      throw invalidFieldError('workflowId', message);
    }
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const launched = await launchJob(tx, caller, { ...options, workflowId, agentId }, this.clock.now(), this.keyRing);
      return { body: launched, location: `/api/jobs/${launched.jobId}` };
    });
  }

  @Get('runs')
  @Endpoint({
    summary: 'List an agent’s 20 most recent runs',
    description:
      'Contains jobs that have started, the latest start first, with the cost of their AI calls. To list queued jobs, ' +
      'use GET /api/jobs.',
    access: allowSessionsAndKeys('runs.read'),
    answer: RunList,
    errors: ['invalid_payload', 'agent_not_found'],
  })
  async runs(@OrganizationId() organizationId: string, @Param('id') agentId: string): Promise<RunList> {
    return { runs: (await listAgentRuns(this.database, organizationId, agentId)).map(presentRun) };
  }
}
