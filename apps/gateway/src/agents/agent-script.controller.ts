import { Body, Controller, HttpStatus, Inject, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  type AccessRule,
  Caller,
  Endpoint,
  Mutation,
  MutationRequest,
  Mutations,
  type Principal,
  requireUnsuspended,
} from '@muster/access';
import { recordBlockedWakeOnError, readRunScript, runCommand } from '@muster/commands';
import { findAgent, requireOwnAgent } from '@muster/machines';
import { AgentScript, AgentScriptBody, AppError, CommandStarted, invalidFieldError } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock, Reply, ReplyHead } from '@muster/platform';
import { VmConfig } from '@muster/vm';
import { findWorkflow, requireScriptOrSteps, buildScriptToRun } from '@muster/workflows';

const membersAndMachines: AccessRule = { sessions: 'agents.control', keys: ['api', 'worker'] };
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
    summary: 'Push or fetch an agent’s script',
    description:
      '`push` requires a session or an API key and returns 202 with the command that delivers the script. `fetch` ' +
      'requires a worker key and returns 200 with the payload of a command.',
    access: membersAndMachines,
    unsuspended: 'sometimes',
    body: AgentScriptBody,
    answer: CommandStarted,
    status: 202,
    errors: ['agent_not_found', 'agent_not_ready', 'not_found'],
    idempotent: true,
    otherwise: { status: HttpStatus.OK, description: 'The payload of the command.', answer: AgentScript },
  })
  async script(
    @Mutation() mutation: MutationRequest,
    @Reply() reply: ReplyHead,
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Body() body: AgentScriptBody,
  ): Promise<CommandStarted | AgentScript> {
    requireOwnAgent(caller, agentId);
    await findAgent(this.database, caller.organizationId, agentId);
    const isMachine = caller.kind === 'api_key' && caller.scope === 'worker';
    if (isMachine !== (body.action === 'fetch')) {
      throw new AppError('permission_denied', {
        detail:
          'A worker key can only be used with the action fetch. Use the action push with a user or a key of scope ' +
          'api.',
      });
    }
    if (body.action === 'push') {
      requireUnsuspended(caller);
      return this.pushScript(mutation, caller.organizationId, agentId, body);
    }
    reply.setStatus(HttpStatus.OK);
    requireExactlyOne('commandId', body.commandId, body.jobId);
    return readRunScript(this.database, { organizationId: caller.organizationId, agentId }, body);
  }

  private async pushScript(
    mutation: MutationRequest,
    organizationId: string,
    agentId: string,
    { workflowId, script, filename }: AgentScriptBody,
  ): Promise<CommandStarted> {
    requireExactlyOne('workflowId', workflowId, script);
    const workflow = workflowId ? await findWorkflow(this.database, organizationId, workflowId) : null;
    const runs = workflow ? buildScriptToRun(workflow) : null;
    if (workflow) requireScriptOrSteps(runs !== null);
    const work = this.mutations.runMutation(mutation, async (tx, caller) => {
      const payload = {
        action: 'push',
        script: runs ?? script,
        filename: filename ?? 'script.py',
        ...(workflow ? { workflowId, workflowRevision: workflow.revision } : {}),
      };
      const times = { timeoutMs: pushTimeoutMs, wakeTimeoutMs: this.vm.wakeTimeoutMs, now: this.clock.now() };
      const commandId = await runCommand(tx, caller, agentId, { kind: 'script', payload, ...times });
      const location = `/api/agents/${agentId}/run-snippet/status?commandId=${commandId}`;
      return { body: { commandId }, location };
    });
    return recordBlockedWakeOnError(this.database, work);
  }
}

function requireExactlyOne(field: string, ...values: unknown[]): void {
  if (values.filter((value) => value !== undefined).length === 1) return;
  const names = field === 'workflowId' ? 'workflowId and script' : 'commandId and jobId';
  throw invalidFieldError(field, `specify exactly one of ${names}`, `Specify exactly one of ${names}.`);
}
