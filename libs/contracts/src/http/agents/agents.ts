import {
  BooleanField,
  DateTimeField,
  EnumField,
  JsonField,
  ListField,
  ObjectField,
  TextField,
  TextListField,
  UuidField,
  NumberField,
} from '../fields';
import { PageQuery } from '../pages';
import { MachineCapability } from './machines';
import { type AgentProvider, agentProviders, type AgentStatus, agentStatuses } from './agent-words';

const labels = { optional: true, visible: true, maxItems: 50, max: 64, example: ['front-desk'] };

export const activityText =
  'Time of the agent’s last activity: a job was assigned, a running job reported, a command was sent, the machine ' +
  'booted, or a person’s activity was reported. Reports of a running job update it at most every 5 s.';

export class Agent {
  @UuidField() id!: string;
  @TextField({ example: 'Front desk 1' }) name!: string;
  @EnumField(agentStatuses) status!: AgentStatus;
  @EnumField(agentProviders) provider!: AgentProvider;
  @TextField({
    nullable: true,
    example: 'i-0abc1234def567890',
    description: 'Identifier of the agent’s machine at the provider of the machine.',
  })
  providerRef!: string | null;
  @TextListField({ maxItems: 50, example: ['front-desk'] }) labels!: string[];
  @DateTimeField({ nullable: true }) lastSeen!: string | null;
  @DateTimeField({ nullable: true, description: activityText }) lastActivityAt!: string | null;
  @TextField({ nullable: true, max: 2048, example: 'https://a1.tunnels.example.com' }) publicTunnelUrl!: string | null;
  @TextField({ nullable: true, max: 2048, example: 'https://a1.tunnels.example.com' }) tunnelUrl!: string | null;
  @TextField({ nullable: true, example: 'running' }) vmState!: string | null;
  @TextField({ nullable: true, example: '10.0.0.12' }) vmIp!: string | null;
  @BooleanField({ example: false }) idleAutoStopExempt!: boolean;
  @BooleanField({
    example: true,
    description:
      'Whether the dispatcher can choose the agent for runs that require labels. Runs that name the agent always ' +
      'run on it.',
  })
  placement!: boolean;
  @TextField({ nullable: true, example: '1.4.0' }) workerVersion!: string | null;
  @ListField(() => MachineCapability, {
    nullable: true,
    description:
      'Software of the machine, as the worker reported it in its last handshake. Null if the worker reported no ' +
      'list of software. A command that requires missing software is rejected with the error machine_cannot.',
  })
  capabilities!: MachineCapability[] | null;
  @UuidField({ nullable: true }) currentJobId!: string | null;
  @NumberField({ example: 0.12, description: 'Cost of the machine for each hour that it is on, in US dollars.' })
  computeUsdPerHour!: number;
  @DateTimeField({
    nullable: true,
    description:
      'Time at which the machine will be stopped because it is idle, unless there is activity before. Null if it will ' +
      'not be stopped.',
  })
  stopAt!: string | null;
  @TextField({
    max: 1000,
    description: 'Reason why the machine is on or off, and since when, as a sentence.',
    example: 'Online since 2026-01-31T09:30:00.000Z : the worker reported after its boot.',
  })
  why!: string;
  @TextField({
    min: 0,
    max: 1000,
    description: 'Short form of the explanation in `why`, for a list.',
    example: 'kept on: pinned',
  })
  reason!: string;
  @DateTimeField({ description: 'Time since which the agent has its current status.' }) statusSince!: string;
  @DateTimeField() createdAt!: string;
}

export class AgentList {
  @ListField(() => Agent) agents!: Agent[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

const agentSorts = ['name', '-name', 'status', '-status', 'lastSeen', '-lastSeen', 'createdAt', '-createdAt'] as const;
export type AgentSort = (typeof agentSorts)[number];

export class AgentQuery extends PageQuery {
  @EnumField(agentStatuses, {
    optional: true,
    description: 'Only agents with this status. When absent, all agents except terminated ones.',
  })
  status?: AgentStatus;
  @TextField({ optional: true, max: 64 }) label?: string;
  @TextField({ optional: true, max: 100, description: 'Part of the name, case-insensitive.' }) q?: string;
  @EnumField(agentSorts, {
    optional: true,
    example: 'createdAt',
    description: 'Sort order; a leading - means descending. createdAt when absent. Agents without a value are last.',
  })
  sort?: AgentSort;
}

export class CreateAgentBody {
  @TextField({ max: 100, visible: true, example: 'Front desk 1' }) name!: string;
  @EnumField(agentProviders, { example: 'external' }) provider!: AgentProvider;
  @JsonField({
    optional: true,
    description:
      'Fields by provider: http: {baseUrl, ref}; ec2: {instanceId, region}; docker: {container, host?}. For every ' +
      'provider: {hourlyUsd?}, the cost of the machine per hour in US dollars.',
    example: {},
  })
  providerConfig?: Record<string, unknown>;
  @TextListField(labels) labels?: string[];
}

export class CreatedAgent {
  @ObjectField(() => Agent) agent!: Agent;
  @TextField({
    description: 'Worker key of the machine. Store the key now, because no later response contains it.',
    example: 'msk_k3v9x2m4q8w1_…',
  })
  workerKey!: string;
}

export class UpdateAgentBody {
  @TextField({ optional: true, max: 100, visible: true, example: 'Front desk 2' }) name?: string;
  @TextListField(labels) labels?: string[];
  @BooleanField({
    optional: true,
    example: true,
    description: 'Whether the dispatcher can choose the agent for runs that require labels.',
  })
  placement?: boolean;
}

export class TerminateAgentQuery {
  @EnumField(['true', 'false'], {
    optional: true,
    description: 'true: terminate the agent even while a job runs on it. The job fails with errorCode agent_stopped.',
  })
  force?: 'true' | 'false';
}
