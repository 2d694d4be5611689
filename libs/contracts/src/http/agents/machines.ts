import {
  BooleanField,
  DateTimeField,
  EnumField,
  IdListField,
  IntField,
  JsonField,
  ListField,
  TextField,
  TextListField,
  UuidField,
} from '../fields';
import { IgnoreUnknownFields } from '../unknown-fields';
import { type AgentStatus, agentStatuses } from './agent-words';

const optional = { optional: true, nullable: true };
const tunnel = { ...optional, max: 2048, example: 'a1.tunnels.example.com' };

@IgnoreUnknownFields()
export class HeartbeatBody {
  @UuidField() agentId!: string;
  @TextField({ example: 'b7c1f2', description: 'Of the boot that shook hands.' }) bootId!: string;
  @TextField({ ...tunnel, description: 'A host name, or a full http(s) URL.' }) tunnelHostname?: string | null;
  @TextField({ ...optional, max: 64, example: 'running' }) vmState?: string | null;
  @TextField({ ...optional, max: 64, example: '10.0.0.12' }) vmIp?: string | null;
  @TextField({ ...optional, max: 64, example: '1.4.0' }) workerVersion?: string | null;
  @BooleanField({ ...optional, description: 'Absent means true. Three false in a row make the agent offline.' })
  healthy?: boolean | null;
  @BooleanField({ ...optional, description: 'Somebody worked on the machine since the last heartbeat.' })
  activity?: boolean | null;
  @IdListField({ optional: true, nullable: true, maxItems: 100, max: 64 })
  runningJobIds?: string[] | null;
  @JsonField(optional) metrics?: Record<string, unknown> | null;
}

export class HeartbeatAnswer {
  @EnumField(agentStatuses) status!: AgentStatus;
  @DateTimeField() serverTime!: string;
  @IntField({ description: 'Commands that wait to be taken.', example: 0 }) pendingCommands!: number;
  @TextListField({ example: [], description: 'Jobs that are over: end what runs of them.' })
  abandon!: string[];
  @EnumField(['unreachable'], {
    optional: true,
    description: 'No push gets through its tunnel since its handshake: poll for commands.',
  })
  tunnel?: 'unreachable';
}

export class MachineCapability {
  @TextField({ max: 40, example: 'python', description: 'python, chromium, ffmpeg, pillow, odbc, sandbox.' })
  name!: string;
  @BooleanField({ example: true, description: 'Whether commands that need it can be run there.' }) available!: boolean;
  @TextField({
    max: 300,
    nullable: true,
    example: '3.11.2',
    description: 'Its version or path; where it is missing, why, if that is known.',
  })
  detail!: string | null;
}

@IgnoreUnknownFields()
export class HandshakeBody {
  @UuidField() agentId!: string;
  @TextField({ example: 'b7c1f2', description: 'Another one after each boot.' }) bootId!: string;
  @TextField({ ...optional, max: 253, example: 'front-desk-1' }) hostname?: string | null;
  @TextField({
    ...tunnel,
    description: 'A host name, or a full http(s) URL. Null: it has none, and polls; absent: as it was.',
  })
  tunnelHostname?: string | null;
  @TextField({ max: 64, example: '1.4.0' }) workerVersion!: string;
  @TextField({ ...optional, example: 'linux x64' }) platform?: string | null;
  @TextListField({ optional: true, nullable: true, example: ['run', 'snippet'] }) capabilities?: string[] | null;
  @ListField(() => MachineCapability, {
    optional: true,
    nullable: true,
    maxItems: 50,
    description: 'What the machine has. Of one whose worker leaves this out nothing is known, and nothing is refused.',
  })
  machineCapabilities?: MachineCapability[] | null;
}

export class HandshakeAnswer {
  @UuidField() agentId!: string;
  @UuidField() organizationId!: string;
  @EnumField(agentStatuses) status!: AgentStatus;
  @IntField({ min: 1, example: 30, description: 'Seconds between heartbeats.' }) heartbeatSeconds!: number;
  @TextField({
    description:
      'Keys x-service-signature, in both directions. A key that is bound to an agent gets a secret that signs for this ' +
      'agent only; an organization’s worker key gets the organization’s.',
    example: 'mss_…',
  })
  signingSecret!: string;
}

/** What became of a boot that may not speak any more: its machine was stopped, or a newer one has its place. */
export type BootEnd = 'ended' | 'superseded';

/** What a conflict tells a machine beside the problem's own fields. */
export interface MachineRefusal {
  agentStatus: AgentStatus;
  boot?: BootEnd;
}

@IgnoreUnknownFields()
export class SetupStatusBody {
  @UuidField() agentId!: string;
  @TextField({ max: 100, example: 'install-worker' }) phase!: string;
  @TextField({ max: 100, example: 'done' }) status!: string;
  @TextField({ ...optional, min: 0, max: 10_000, example: 'version 1.4.0' }) message?: string | null;
  @TextField({ ...tunnel, example: 'https://a1.tunnels.example.com' }) tunnelUrl?: string | null;
}
