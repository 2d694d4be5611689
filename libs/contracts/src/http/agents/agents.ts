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
  'When it last worked: a job given to it, a callback of a running job, a command, a handshake, reported activity. ' +
  'Callbacks move it at most every 5 s.';

export class Agent {
  @UuidField() id!: string;
  @TextField({ example: 'Front desk 1' }) name!: string;
  @EnumField(agentStatuses) status!: AgentStatus;
  @EnumField(agentProviders) provider!: AgentProvider;
  @TextField({ nullable: true, example: 'i-0abc1234def567890', description: 'The machine’s name at its provider.' })
  providerRef!: string | null;
  @TextListField({ maxItems: 50, example: ['front-desk'] }) labels!: string[];
  @DateTimeField({ nullable: true }) lastSeen!: string | null;
  @DateTimeField({ nullable: true, description: activityText }) lastActivityAt!: string | null;
  @TextField({ nullable: true, max: 2048, example: 'https://a1.tunnels.example.com' }) publicTunnelUrl!: string | null;
  @TextField({ nullable: true, max: 2048, example: 'https://a1.tunnels.example.com' }) tunnelUrl!: string | null;
  @TextField({ nullable: true, example: 'running' }) vmState!: string | null;
  @TextField({ nullable: true, example: '10.0.0.12' }) vmIp!: string | null;
  @BooleanField({ example: false }) idleAutoStopExempt!: boolean;
  @TextField({ nullable: true, example: '1.4.0' }) workerVersion!: string | null;
  @ListField(() => MachineCapability, {
    nullable: true,
    description:
      'What its machine has, as its worker said in its last handshake; null where it did not say. A command that needs what is missing is refused as machine_cannot.',
  })
  capabilities!: MachineCapability[] | null;
  @UuidField({ nullable: true }) currentJobId!: string | null;
  @NumberField({ example: 0.12, description: 'What its machine costs for an hour that it is on.' })
  computeUsdPerHour!: number;
  @DateTimeField({ nullable: true, description: 'When idle stop will come, if nothing happens before.' })
  stopAt!: string | null;
  @TextField({
    max: 1000,
    description: 'Why the machine is on or off, and since when.',
    example: 'Online since 2026-01-31T09:30:00.000Z : the worker reported after its boot.',
  })
  why!: string;
  @TextField({ min: 0, max: 1000, description: 'The same in a few words, for a list.', example: 'kept on: pinned' })
  reason!: string;
  @DateTimeField({ description: 'Since when it has its status.' }) statusSince!: string;
  @DateTimeField() createdAt!: string;
}

export class AgentList {
  @ListField(() => Agent) agents!: Agent[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

const agentSorts = ['name', '-name', 'status', '-status', 'lastSeen', '-lastSeen', 'createdAt', '-createdAt'] as const;
export type AgentSort = (typeof agentSorts)[number];

export class AgentQuery extends PageQuery {
  @EnumField(agentStatuses, { optional: true, description: 'Terminated agents are shown only when asked for.' })
  status?: AgentStatus;
  @TextField({ optional: true, max: 64 }) label?: string;
  @TextField({ optional: true, max: 100, description: 'A part of the name.' }) q?: string;
  @EnumField(agentSorts, {
    optional: true,
    example: 'createdAt',
    description: 'With - the greatest first; createdAt when absent. What has no value comes last.',
  })
  sort?: AgentSort;
}

export class CreateAgentBody {
  @TextField({ max: 100, visible: true, example: 'Front desk 1' }) name!: string;
  @EnumField(agentProviders, { example: 'external' }) provider!: AgentProvider;
  @JsonField({
    optional: true,
    description:
      'http: {baseUrl, ref}; ec2: {instanceId, region}; docker: {container, host?}. For any of them: {hourlyUsd?}, what the machine costs for an hour.',
    example: {},
  })
  providerConfig?: Record<string, unknown>;
  @TextListField(labels) labels?: string[];
}

export class CreatedAgent {
  @ObjectField(() => Agent) agent!: Agent;
  @TextField({ description: 'The machine’s key, shown this once.', example: 'msk_k3v9x2m4q8w1_…' }) workerKey!: string;
}

export class UpdateAgentBody {
  @TextField({ optional: true, max: 100, visible: true, example: 'Front desk 2' }) name?: string;
  @TextListField(labels) labels?: string[];
}

export class TerminateAgentQuery {
  @EnumField(['true', 'false'], { optional: true, description: 'true: also while a job runs on it.' })
  force?: 'true' | 'false';
}
