import {
  BooleanField,
  DateTimeField,
  EnumField,
  ObjectField,
  TextField,
  TextListField,
  TextMapField,
  UuidField,
} from '../fields';
import { type AgentStatus, agentStatuses } from './agent-words';
import { activityText, Agent } from './agents';
import { type RecordingKind, recordingKinds } from './recordings';

export const agentActions = [
  'start',
  'stop',
  'reboot',
  'terminate',
  'repair',
  'stop_job',
  'start_job',
  'start_recording',
  'attach_recording',
  'stop_recording',
  'deploy_extension',
] as const;
export type AgentAction = (typeof agentActions)[number];

export class AgentActionBody {
  @EnumField(agentActions) action!: AgentAction;
  @BooleanField({
    optional: true,
    description:
      'stop, terminate: also while a job runs, which fails with errorCode agent_stopped. A reboot needs none: a job ' +
      'that it ends fails with agent_rebooted.',
  })
  force?: boolean;
  @UuidField({ optional: true, description: 'start_job: what to run; this or jobId.' }) workflowId?: string;
  @TextMapField({
    optional: true,
    description: 'start_job: the workflow’s variables.',
    example: { CLAIM_ID: 'C-1042' },
  })
  variables?: Record<string, string>;
  @UuidField({ optional: true, description: 'start_job: a queued job; stop_job: the job to end.' }) jobId?: string;
  @TextField({
    optional: true,
    max: 500,
    description: 'stop_job and the actions that are commands: why.',
    example: 'wrong clinic',
  })
  reason?: string;
  @TextField({ optional: true, description: 'start_recording: what it is called.', example: 'Monday' }) name?: string;
  @EnumField(recordingKinds, {
    optional: true,
    description: 'start_recording: the screen, or a browser of its own; unless said, the screen where there is one.',
    example: 'browser',
  })
  kind?: RecordingKind;
  @TextField({
    optional: true,
    max: 2048,
    format: 'uri',
    pattern: /^https?:\/\/[^\s/]\S*$/i,
    description: 'start_recording: what the browser opens.',
    example: 'https://portal.example.com/',
  })
  startUrl?: string;
  @UuidField({ optional: true, description: 'attach_recording, stop_recording: which one.' }) recordingId?: string;
  @TextField({
    optional: true,
    max: 100,
    description: 'deploy_extension: the version that it must be of.',
    example: '1.4.0',
  })
  version?: string;
  @TextField({
    optional: true,
    max: 1024,
    description:
      'deploy_extension: the key or id of an artifact, or the id or workerKey of a workflow pack: of that the bundle of ' +
      'its newest version in production, else of the newest that an installation is pinned to, else of the newest ' +
      'pilot, decided when the machine fetches it. When absent, the newest artifact whose name has the version.',
  })
  key?: string;
  @TextField({
    optional: true,
    max: 500,
    description: 'repair: a live worker key for this agent. It is never stored readable.',
  })
  apiKey?: string;
}

export class AgentActionAnswer {
  @BooleanField() success!: boolean;
  @EnumField(agentActions) action!: AgentAction;
  @EnumField(agentStatuses, { description: 'The agent’s status after it.' }) status!: AgentStatus;
  @UuidField({ optional: true, description: 'The command that the agent was given.' }) commandId?: string;
  @UuidField({ optional: true }) jobId?: string;
  @UuidField({ optional: true }) recordingId?: string;
}

export class IdleExemptBody {
  @BooleanField({ description: 'true pins the agent: idle stop leaves it on.' }) exempt!: boolean;
}

export class IdleExemptAnswer {
  @BooleanField() success!: boolean;
  @BooleanField() idleAutoStopExempt!: boolean;
}

export class DrainBody {
  @EnumField(['finish', 'now'], { description: 'finish: what it has may end; now: it is to have nothing.' })
  mode!: 'finish' | 'now';
  @BooleanField({
    optional: true,
    description: 'now: also while a job runs, which fails with errorCode agent_stopped and follows its retries.',
  })
  force?: boolean;
}

export class DrainAnswer {
  @ObjectField(() => Agent) agent!: Agent;
  @TextListField({ max: 36, maxItems: 100_000, description: 'The jobs that it has.', example: [] }) running!: string[];
  @TextListField({ max: 36, maxItems: 100_000, description: 'The jobs that wait for it.', example: [] })
  queued!: string[];
}

export class ActivityBody {
  @TextField({ optional: true, max: 64, description: 'What was done.', example: 'workspace' }) kind?: string;
  @DateTimeField({ optional: true, description: 'When; now unless said. A time to come counts as now.' }) at?: string;
}

export class ActivityAnswer {
  @BooleanField() success!: boolean;
  @DateTimeField() lastActivityAt!: string;
}

export class AgentLiveStatus {
  @EnumField(agentStatuses) status!: AgentStatus;
  @DateTimeField({ nullable: true }) lastSeen!: string | null;
  @DateTimeField({ nullable: true, description: activityText }) lastActivityAt!: string | null;
  @TextField({ nullable: true, max: 2048, example: 'https://a1.tunnels.example.com' }) publicTunnelUrl!: string | null;
  @TextField({ nullable: true, example: 'running' }) vmState!: string | null;
  @TextField({ nullable: true, example: '10.0.0.12' }) vmIp!: string | null;
  @BooleanField({
    optional: true,
    description: 'The provider did not answer within 3 seconds: vmState and vmIp are what was known last.',
  })
  stale?: boolean;
}
