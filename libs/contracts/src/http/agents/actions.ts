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
      'For `stop` and `terminate`: whether to proceed while a job runs. The job then fails with errorCode agent_stopped. reboot ' +
      'ignores this field: a running job fails with errorCode agent_rebooted.',
  })
  force?: boolean;
  @UuidField({
    optional: true,
    description: 'For `start_job`: ID of the workflow to run. Send either workflowId or jobId.',
  })
  workflowId?: string;
  @TextMapField({
    optional: true,
    description: 'For `start_job`: values of the workflow’s variables.',
    example: { CLAIM_ID: 'C-1042' },
  })
  variables?: Record<string, string>;
  @UuidField({
    optional: true,
    description: 'For `start_job`: ID of a queued job to start. For `stop_job`: ID of the job to stop.',
  })
  jobId?: string;
  @TextField({
    optional: true,
    max: 500,
    description: 'Reason for stop_job, or for an action that sends the agent a command.',
    example: 'wrong clinic',
  })
  reason?: string;
  @TextField({ optional: true, description: 'For `start_recording`: name of the recording.', example: 'Monday' })
  name?: string;
  @EnumField(recordingKinds, {
    optional: true,
    description:
      'For `start_recording`: records the screen or a separate browser. When absent: browser if startUrl is set or the ' +
      'machine cannot record its screen, otherwise screen.',
    example: 'browser',
  })
  kind?: RecordingKind;
  @TextField({
    optional: true,
    max: 2048,
    format: 'uri',
    pattern: /^https?:\/\/[^\s/]\S*$/i,
    description: 'For `start_recording`: URL that the browser opens first. Not allowed with kind screen.',
    example: 'https://portal.example.com/',
  })
  startUrl?: string;
  @UuidField({ optional: true, description: 'For `attach_recording` and `stop_recording`: ID of the recording.' })
  recordingId?: string;
  @TextField({
    optional: true,
    max: 100,
    description: 'For `deploy_extension`: version that the extension must have.',
    example: '1.4.0',
  })
  version?: string;
  @TextField({
    optional: true,
    max: 1024,
    description:
      'For `deploy_extension`: the key or ID of an artifact, or the ID or workerKey of a workflow pack. For a pack, the ' +
      'bundle of its newest production version is deployed. If the pack has no production version, the newest ' +
      'version that an installation is pinned to is deployed, and if there is none, the newest pilot version. The ' +
      'version is chosen when the machine fetches the file. When absent, the newest .zip or .crx artifact with the ' +
      'version in its name is deployed.',
  })
  key?: string;
  @TextField({
    optional: true,
    max: 500,
    description:
      'For `repair`: an active worker key of the organization that is valid for this agent. The key is stored encrypted.',
  })
  apiKey?: string;
}

export class AgentActionAnswer {
  @BooleanField() success!: boolean;
  @EnumField(agentActions) action!: AgentAction;
  @EnumField(agentStatuses, { description: 'Status of the agent after the action.' }) status!: AgentStatus;
  @UuidField({ optional: true, description: 'ID of the command that was created for the agent.' }) commandId?: string;
  @UuidField({ optional: true }) jobId?: string;
  @UuidField({ optional: true }) recordingId?: string;
}

export class IdleExemptBody {
  @BooleanField({ description: 'Whether the machine of the agent stays on while it is idle.' }) exempt!: boolean;
}

export class IdleExemptAnswer {
  @BooleanField() success!: boolean;
  @BooleanField() idleAutoStopExempt!: boolean;
}

export class DrainBody {
  @EnumField(['finish', 'now'], {
    description:
      'finish: a running job is completed. now: the agent is drained at once; the request is rejected while a job ' +
      'runs, unless force is true.',
  })
  mode!: 'finish' | 'now';
  @BooleanField({
    optional: true,
    description:
      'For mode now: whether to proceed while a job runs. The job then fails with errorCode agent_stopped, and is ' +
      'retried if it has retries left.',
  })
  force?: boolean;
}

export class DrainAnswer {
  @ObjectField(() => Agent) agent!: Agent;
  @TextListField({
    max: 36,
    maxItems: 100_000,
    description: 'IDs of the jobs that run on the agent or were sent to it.',
    example: [],
  })
  running!: string[];
  @TextListField({
    max: 36,
    maxItems: 100_000,
    description: 'IDs of the queued jobs that wait for the agent.',
    example: [],
  })
  queued!: string[];
}

export class ActivityBody {
  @TextField({
    optional: true,
    max: 64,
    description: 'Activity of the person, in a word of your choice.',
    example: 'workspace',
  })
  kind?: string;
  @DateTimeField({ optional: true, description: 'Time of the activity. Defaults to now; a future time counts as now.' })
  at?: string;
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
    description:
      'Whether the provider did not answer within 3 seconds. vmState and vmIp are then the last known values.',
  })
  stale?: boolean;
}
