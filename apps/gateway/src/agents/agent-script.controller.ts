import { Body, Controller, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { type AccessRule, audit, Endpoint, Mutations, principalOf, requireUnsuspended } from '@muster/access';
import { explainingBlocked, findAgent, readScript, requireOwnAgent, startCommand } from '@muster/agents';
import { AgentScript, AgentScriptBody, AppError, CommandStarted } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock } from '@muster/platform';
import { VmConfig } from '@muster/vm';
import { findWorkflow, requireSomethingToRun, scriptOf } from '@muster/workflows';
import type { FastifyReply, FastifyRequest } from 'fastify';

const membersAndMachines: AccessRule = { sessions: 'member', keys: ['api', 'worker'] };
const pushTimeoutMs = 600_000;

@ApiTags('Commands')
@Controller('/api/agents/:id/script')
export class AgentScriptController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(VmConfig) private readonly vm: VmConfig,
  ) {}

  @Post()
  @Endpoint({
    summary: 'Push a script to an agent, or fetch one as the agent',
    description: 'push answers 202 with the command that carries it; fetch answers 200 with the payload.',
    access: membersAndMachines,
    unsuspended: 'sometimes',
    body: AgentScriptBody,
    answer: CommandStarted,
    status: 202,
    errors: ['agent_not_found', 'agent_not_ready', 'not_found'],
    idempotent: true,
  })
  @ApiOkResponse({ type: AgentScript, description: 'What the command was given.' })
  async script(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Param('id') agentId: string,
    @Body() body: AgentScriptBody,
  ): Promise<unknown> {
    const caller = principalOf(request);
    requireOwnAgent(caller, agentId);
    await findAgent(this.database, caller.organizationId, agentId);
    const isMachine = caller.kind === 'api_key' && caller.scope === 'worker';
    if (isMachine !== (body.action === 'fetch')) {
      throw new AppError('permission_denied', { detail: 'People push scripts; a machine fetches them.' });
    }
    if (body.action === 'push') {
      requireUnsuspended(caller);
      return this.push(request, reply, agentId, body);
    }
    void reply.status(200);
    requireOne('commandId', body.commandId, body.jobId);
    return readScript(this.database, { organizationId: caller.organizationId, agentId }, body);
  }

  private async push(
    request: FastifyRequest,
    reply: FastifyReply,
    agentId: string,
    { workflowId, script, filename }: AgentScriptBody,
  ): Promise<unknown> {
    requireOne('workflowId', workflowId, script);
    const { organizationId } = principalOf(request);
    const workflow = workflowId ? await findWorkflow(this.database, organizationId, workflowId) : null;
    const runs = workflow ? scriptOf(workflow) : null;
    if (workflow) requireSomethingToRun(runs !== null);
    const work = this.mutations.run(request, reply, async (tx, caller) => {
      const payload = {
        action: 'push',
        script: runs ?? script,
        filename: filename ?? 'script.py',
        ...(workflow ? { workflowId, workflowRevision: workflow.revision } : {}),
      };
      const commandId = await startCommand(tx, {
        organizationId,
        agentId,
        kind: 'script',
        payload,
        timeoutMs: pushTimeoutMs,
        wakeTimeoutMs: this.vm.wakeTimeoutMs,
        now: this.clock.now(),
      });
      const target = { type: 'agent', id: agentId };
      audit(tx, caller, { action: 'agent.push_script', target, changes: { commandId, workflowId } });
      const location = `/api/agents/${agentId}/run-snippet/status?commandId=${commandId}`;
      return { body: { commandId }, location };
    });
    return explainingBlocked(this.database, work);
  }
}

function requireOne(field: string, ...given: unknown[]): void {
  if (given.filter((value) => value !== undefined).length === 1) return;
  const names = field === 'workflowId' ? 'workflowId or script' : 'commandId or jobId';
  throw new AppError('invalid_payload', {
    detail: `Say which script: ${names}.`,
    errors: [{ field, message: `give either ${names}` }],
  });
}
