import type { Socket } from 'node:net';
import { Body, Controller, Get, HttpStatus, Inject, Param, Patch, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Caller,
  Endpoint,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  type Principal,
  requireRecentFactor,
  allowSessionsAndKeys,
} from '@muster/access';
import { recordBlockedWakeOnError } from '@muster/commands';
import {
  recordClientActivity,
  readLiveStatus,
  requirePossibleMachineAction,
  waitUntilOnlineOrThrow,
  setIdleExempt,
} from '@muster/machines';
import {
  ActivityAnswer,
  ActivityBody,
  AgentActionAnswer,
  AgentActionBody,
  AgentLiveStatus,
  IdleExemptAnswer,
  IdleExemptBody,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { performAgentAction } from '@muster/jobs';
import { Clock, Connection, OpenStreams, PubSub } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { Machines, VmConfig } from '@muster/vm';

@ApiTags('Agents')
@Controller()
export class AgentActionsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Machines) private readonly machines: Machines,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(VmConfig) private readonly vm: VmConfig,
    @Inject(PubSub) private readonly pubSub: PubSub,
    @Inject(OpenStreams) private readonly streams: OpenStreams,
  ) {}

  @Post('/api/agent/:id/action')
  @Endpoint({
    summary: 'Perform an action on an agent',
    description:
      '`start_job` wakes the agent if the organization allows it, waits until the agent is on, and returns 202 with ' +
      'the job. Every other action returns at once. `start_job` and `stop_job` also require the permission runs.write, ' +
      'and `terminate` the permission agents.admin. The machine of an ec2 or docker agent must carry the ' +
      'organization’s id in the tag `muster:organization` or the label `muster.organization`. If the machine does not carry it, `terminate` with `force` terminates the agent and ' +
      'leaves the machine running.',
    access: allowSessionsAndKeys('agents.control'),
    unsuspended: 'sometimes',
    body: AgentActionBody,
    answer: AgentActionAnswer,
    errors: [
      'agent_not_found',
      'agent_not_ready',
      'machine_cannot',
      'agent_not_woken',
      'execution_timeout',
      'machine_not_ours',
      'not_found',
      'conflict',
      'nothing_to_run',
      'no_pinned_version',
      'billing_gate_closed',
      'step_up_required',
    ],
    idempotent: true,
    // The request timeout does not apply, because the deadline of the wake ends the wait.
    waits: true,
    otherwise: { status: 202, description: 'The job is queued and its agent is on.', answer: AgentActionAnswer },
  })
  async act(
    @Mutation() mutation: MutationRequest,
    @Caller() caller: Principal,
    @Connection() connection: Socket,
    @Param('id') id: string,
    @Body() body: AgentActionBody,
  ): Promise<AgentActionAnswer> {
    const { database, pubSub, machines, keyRing, clock } = this;
    const { wakeTimeoutMs } = this.vm;
    if (body.action === 'terminate') {
      requireRecentFactor(caller, { now: clock.now(), stepUpAfterMs: this.vm.stepUpAfterMs });
    }
    await requirePossibleMachineAction({ database, machines, keyRing, clock }, caller, id, body);
    let wakeId: string | undefined;
    const change = this.mutations.runMutation(mutation, async (tx) => {
      const acted = await performAgentAction(tx, caller, id, body, { keyRing, wakeTimeoutMs, now: clock.now() });
      const { answer, location } = acted;
      wakeId = acted.wakeId;
      return { body: answer, location, ...(body.action === 'start_job' ? { status: HttpStatus.ACCEPTED } : {}) };
    });
    const answer = await recordBlockedWakeOnError(database, change);
    if (!wakeId) return answer;
    const wake = { organizationId: caller.organizationId, agentId: id, wakeId, jobId: answer.jobId! };
    const status = await this.streams.runWaiting(connection, 'wake', (left) =>
      waitUntilOnlineOrThrow({ database, pubSub, wakeTimeoutMs }, wake, left),
    );
    return { ...answer, status };
  }

  @Patch('/api/agent/:id/idle-exempt')
  @Endpoint({
    summary: 'Set whether an agent stays on while it is idle',
    description: 'The machine of an exempt agent is not stopped automatically when it has no work.',
    access: allowSessionsAndKeys('agents.control'),
    body: IdleExemptBody,
    answer: IdleExemptAnswer,
    errors: ['agent_not_found'],
  })
  exempt(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() { exempt }: IdleExemptBody,
  ): Promise<IdleExemptAnswer> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await setIdleExempt(tx, caller, id, exempt);
      return { body: { success: true, idleAutoStopExempt: exempt } satisfies IdleExemptAnswer };
    });
  }

  @Post('/api/agent/:id/activity')
  @Endpoint({
    summary: 'Report activity on an agent',
    description:
      'Records that a person is working on the agent. The idle time of the agent starts again from zero, which ' +
      'delays its automatic stop.',
    access: allowSessionsAndKeys('agents.control'),
    body: ActivityBody,
    answer: ActivityAnswer,
    errors: ['agent_not_found'],
  })
  activity(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() { kind, at }: ActivityBody,
  ): Promise<ActivityAnswer> {
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => {
        const lastActivityAt = await recordClientActivity(tx, caller, id, { kind, at: at ? new Date(at) : undefined });
        return { body: { success: true, lastActivityAt: lastActivityAt.toISOString() } satisfies ActivityAnswer };
      },
      { unaudited: 'it reports activity many times an hour and changes nothing that a user owns' },
    );
  }

  @Get('/api/agents/:id/status')
  @Endpoint({
    summary: 'Read an agent’s live status',
    description:
      'Requests the state of the machine from its provider and waits up to 3 seconds for the answer. If the ' +
      'provider does not answer in time, returns the last known state with `stale`.',
    access: allowSessionsAndKeys('agents.read'),
    answer: AgentLiveStatus,
    errors: ['invalid_payload', 'agent_not_found'],
  })
  async status(@OrganizationId() organizationId: string, @Param('id') id: string): Promise<AgentLiveStatus> {
    const { database, machines, keyRing, clock } = this;
    const live = await readLiveStatus({ database, machines, keyRing, clock }, organizationId, id);
    const { status, lastSeen, lastActivityAt, publicTunnelUrl, vmState, vmIp, stale } = live;
    return {
      status,
      lastSeen: lastSeen?.toISOString() ?? null,
      lastActivityAt: lastActivityAt?.toISOString() ?? null,
      publicTunnelUrl,
      vmState,
      vmIp,
      ...(stale ? { stale } : {}),
    };
  }
}
