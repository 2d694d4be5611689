import {
  Caller,
  Endpoint,
  loadSecretRedactor,
  Mutation,
  MutationRequest,
  Mutations,
  type Principal,
  requireUnsuspended,
  allowSessionsAndKeys,
} from '@muster/access';
import { recordBlockedWakeOnError } from '@muster/commands';
import { findAgent, requireOwnAgent } from '@muster/machines';
import {
  cancelSession,
  findSession,
  createImagePresigner,
  listSessions,
  generatePlanFromScript,
  presentSession,
  presentSessionSummary,
  resumeSession,
  startSession,
  generateTask,
} from '@muster/assistant';
import {
  AutopilotAnswer,
  AutopilotBody,
  AutopilotQuery,
  AutopilotSession,
  AutopilotSessionList,
  invalidFieldError,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { Models } from '@muster/models';
import { Clock, parsePage, buildPage, Reply, ReplyHead } from '@muster/platform';
import { openModelForCaller } from '@muster/pricing';
import { ObjectStorage } from '@muster/storage';
import { KeyRing } from '@muster/vault';
import { VmConfig } from '@muster/vm';
import { findWorkflow, buildScriptToRun } from '@muster/workflows';
import { Body, Controller, Get, HttpStatus, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';

const readers = allowSessionsAndKeys('agents.read');

@ApiTags('Assistant')
@Controller('/api/agents/:id/autopilot')
export class AutopilotController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Models) private readonly models: Models,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(VmConfig) private readonly vm: VmConfig,
  ) {}

  @Post()
  @Endpoint({
    summary: 'Start or control an autopilot session',
    description:
      '`generate-task` writes a task from an intent. `analyze-script` writes one from a script and a description of ' +
      'what the script lacks. Both return 200 with the result. `start` starts a session and returns 202. Each step ' +
      'is performed with the code or the selectors that earlier sessions of the same task saved. If there are none, ' +
      'the model performs the step. The result is then verified. `resume` answers the question of a paused session. ' +
      '`cancel` ends a session. A stopped agent is woken if the organization allows it. An agent has one session or ' +
      'one run at a time.',
    access: allowSessionsAndKeys('agents.control'),
    unsuspended: 'sometimes',
    body: AutopilotBody,
    answer: AutopilotAnswer,
    status: 202,
    errors: [
      'agent_not_found',
      'agent_not_ready',
      'machine_cannot',
      'billing_gate_closed',
      'conflict',
      'already_answered',
      'question_over',
      'execution_timeout',
      'model_failed',
      'model_not_configured',
      'not_found',
    ],
    idempotent: true,
    // The request timeout does not apply, because the timeout of the model call ends the wait.
    waits: true,
    otherwise: { status: HttpStatus.OK, description: 'The task or the plan.', answer: AutopilotAnswer },
  })
  async act(
    @Mutation() mutation: MutationRequest,
    @Reply() reply: ReplyHead,
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Body() body: AutopilotBody,
  ): Promise<AutopilotAnswer> {
    requireOwnAgent(caller, agentId);
    const { organizationId } = caller;
    await findAgent(this.database, organizationId, agentId);
    const { action } = body;
    if (action !== 'cancel') requireUnsuspended(caller);
    if (action === 'cancel' || action === 'resume') return this.changeSession(mutation, caller, agentId, body);
    if (action === 'start') return this.startSession(mutation, caller, agentId, body);
    const answer = await (action === 'generate-task'
      ? this.generateAutopilotTask(caller, agentId, body)
      : this.analyzeScript(caller, agentId, body));
    reply.setStatus(HttpStatus.OK);
    return answer;
  }

  @Get()
  @Endpoint({
    summary: 'List an agent’s autopilot sessions, or read one',
    description:
      'Returns the complete session if `sessionId` is specified. Otherwise returns the agent’s sessions, newest ' +
      'first.',
    reads: 'autopilot',
    access: readers,
    answer: AutopilotSession,
    or: AutopilotSessionList,
    errors: ['invalid_payload', 'agent_not_found', 'not_found'],
  })
  async read(
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Query() query: AutopilotQuery,
  ): Promise<AutopilotSession | AutopilotSessionList> {
    requireOwnAgent(caller, agentId);
    const { organizationId } = caller;
    await findAgent(this.database, organizationId, agentId);
    const { sessionId } = query;
    if (sessionId) {
      const found = await findSession(this.database, { organizationId, agentId, sessionId });
      return presentSession(found, createImagePresigner(this.storage), this.database.now());
    }
    const page = parsePage(query, 'id');
    const rows = await listSessions(this.database, organizationId, { page, filter: { agentId } });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    const [lend, now] = [createImagePresigner(this.storage), this.database.now()];
    return { sessions: await Promise.all(items.map((row) => presentSessionSummary(row, lend, now))), nextCursor };
  }

  private async generateAutopilotTask(
    caller: Principal,
    agentId: string,
    { intent }: AutopilotBody,
  ): Promise<AutopilotAnswer> {
    if (intent === undefined) throw invalidFieldError('intent', 'intent is required');
    const model = await this.openModelOfCaller(caller, agentId);
    const { task } = await generateTask(model, await this.redactSecrets(caller, intent));
    return { task };
  }

  private async analyzeScript(caller: Principal, agentId: string, body: AutopilotBody): Promise<AutopilotAnswer> {
    const { workflowId, gap } = body;
    if ((body.script === undefined) === (workflowId === undefined)) {
      throw invalidFieldError('script', 'specify exactly one of script and workflowId');
    }
    const script =
      body.script ?? buildScriptToRun(await findWorkflow(this.database, caller.organizationId, workflowId!));
    if (script === null) throw invalidFieldError('workflowId', 'the workflow has neither a script nor steps');
    const model = await this.openModelOfCaller(caller, agentId);
    const redacted = {
      script: await this.redactSecrets(caller, script),
      gap: gap && (await this.redactSecrets(caller, gap)),
    };
    return { plan: await generatePlanFromScript(model, redacted) };
  }

  private async startSession(mutation: MutationRequest, caller: Principal, agentId: string, body: AutopilotBody) {
    await this.openModelOfCaller(caller, agentId);
    const { wakeTimeoutMs } = this.vm;
    // The intent is stored and sent to a model, so values of vault secrets are removed from it.
    const intent = body.intent && (await this.redactSecrets(caller, body.intent));
    const work = this.mutations.runMutation(mutation, async (tx) => {
      const started = await startSession(tx, caller, agentId, { body: { ...body, intent }, wakeTimeoutMs });
      return { body: started, location: getSessionLocation(agentId, started.sessionId) };
    });
    return recordBlockedWakeOnError(this.database, work);
  }

  private changeSession(mutation: MutationRequest, caller: Principal, agentId: string, body: AutopilotBody) {
    const { action, sessionId, stepOverride } = body;
    if (sessionId === undefined) throw invalidFieldError('sessionId', 'sessionId is required');
    return this.mutations.runMutation(mutation, async (tx) => {
      const changed =
        action === 'cancel'
          ? await cancelSession(tx, this.keyRing, caller, { agentId, sessionId })
          : await resumeSession(tx, this.keyRing, caller, { agentId, sessionId, stepOverride });
      return { body: changed, location: getSessionLocation(agentId, sessionId) };
    });
  }

  /** Replaces values of the vault's secrets in a text that a person typed, so that no model receives them. */
  private async redactSecrets({ organizationId }: Principal, text: string): Promise<string> {
    const { database, keyRing } = this;
    return (await loadSecretRedactor({ database, keyRing }, { organizationId, agentId: null })).text(text);
  }

  private openModelOfCaller({ organizationId }: Principal, agentId: string) {
    const { database, keyRing, models, clock } = this;
    return openModelForCaller({ database, keyRing, models, clock }, { organizationId, agentId, purpose: 'autopilot' });
  }
}

function getSessionLocation(agentId: string, sessionId: string): string {
  return `/api/agents/${agentId}/autopilot?sessionId=${sessionId}`;
}
