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
  @TextField({ example: 'b7c1f2', description: 'Id of the current boot of the machine, as sent in its handshake.' })
  bootId!: string;
  @TextField({
    ...tunnel,
    description: 'Host name or full http(s) URL of the tunnel through which the service reaches the worker.',
  })
  tunnelHostname?: string | null;
  @TextField({ ...optional, max: 64, example: 'running' }) vmState?: string | null;
  @TextField({ ...optional, max: 64, example: '10.0.0.12' }) vmIp?: string | null;
  @TextField({ ...optional, max: 64, example: '1.4.0' }) workerVersion?: string | null;
  @BooleanField({
    ...optional,
    description:
      'Whether the worker is healthy; true when absent. After three consecutive false values the agent becomes ' +
      'offline.',
  })
  healthy?: boolean | null;
  @BooleanField({ ...optional, description: 'Whether a person used the machine since the last heartbeat.' })
  activity?: boolean | null;
  @IdListField({ optional: true, nullable: true, maxItems: 100, max: 64 })
  runningJobIds?: string[] | null;
  @JsonField(optional) metrics?: Record<string, unknown> | null;
}

export class HeartbeatAnswer {
  @EnumField(agentStatuses) status!: AgentStatus;
  @DateTimeField() serverTime!: string;
  @IntField({ description: 'Number of commands that wait to be fetched.', example: 0 }) pendingCommands!: number;
  @TextListField({
    example: [],
    description: 'IDs of reported jobs that are not queued or running on this agent. The worker must stop them.',
  })
  abandon!: string[];
  @EnumField(['unreachable'], {
    optional: true,
    description:
      'unreachable: the service could not send any command through the tunnel since the handshake. The worker must ' +
      'poll for commands.',
  })
  tunnel?: 'unreachable';
}

export class MachineCapability {
  @TextField({
    max: 40,
    example: 'python',
    description: 'Name of the software: python, chromium, ffmpeg, pillow, odbc or sandbox.',
  })
  name!: string;
  @BooleanField({ example: true, description: 'Whether the machine can run commands that require the software.' })
  available!: boolean;
  @TextField({
    max: 300,
    nullable: true,
    example: '3.11.2',
    description: 'Version or path of the software. If it is missing: the reason, if known.',
  })
  detail!: string | null;
  @BooleanField({
    optional: true,
    description:
      'true if the settings of this machine require the software: odbc, if its practice database is reached by ODBC.',
  })
  required?: boolean;
}

@IgnoreUnknownFields()
export class HandshakeBody {
  @UuidField() agentId!: string;
  @TextField({
    example: 'b7c1f2',
    description: 'Id of this boot of the machine. The worker must send a different one after each boot.',
  })
  bootId!: string;
  @TextField({ ...optional, max: 253, example: 'front-desk-1' }) hostname?: string | null;
  @TextField({
    ...tunnel,
    description:
      'Host name or full http(s) URL of the tunnel through which the service reaches the worker. Null: the machine ' +
      'has no tunnel, and the worker polls for commands. Absent: the stored value does not change.',
  })
  tunnelHostname?: string | null;
  @TextField({ max: 64, example: '1.4.0' }) workerVersion!: string;
  @TextField({ ...optional, example: 'linux x64' }) platform?: string | null;
  @TextListField({ optional: true, nullable: true, example: ['run', 'snippet'] }) capabilities?: string[] | null;
  @ListField(() => MachineCapability, {
    optional: true,
    nullable: true,
    maxItems: 50,
    description:
      'Software of the machine. If the field is absent, the service does not know the software, and rejects no ' +
      'command because software is missing.',
  })
  machineCapabilities?: MachineCapability[] | null;
}

export class HandshakeAnswer {
  @UuidField() agentId!: string;
  @UuidField() organizationId!: string;
  @EnumField(agentStatuses) status!: AgentStatus;
  @IntField({ min: 1, example: 30, description: 'Number of seconds between heartbeats.' }) heartbeatSeconds!: number;
  @TextField({
    description:
      'HMAC key of the header x-service-signature: the worker signs its reports with it, and the service signs ' +
      'its calls to the worker. A worker key that is bound to an agent gets a secret for this agent only. Any other ' +
      'worker key gets the secret of the organization.',
    example: 'mss_…',
  })
  signingSecret!: string;
}

/** Why a boot's requests are rejected: the service stopped its machine, or a newer boot has replaced it. */
export type BootEnd = 'ended' | 'superseded';

/** Additional fields of a conflict error that a machine receives. */
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
