import {
  AnyJsonField,
  BooleanField,
  DateTimeField,
  EnumField,
  IntField,
  ListField,
  NumberField,
  ObjectField,
  QueryIntField,
  TextField,
  TextListField,
  TextMapField,
  UsdField,
  UuidField,
} from '../fields';
import { JobAsking } from '../asking/questions';
import { listOrders, PageQuery } from '../pages';
import { WaitingDetail } from './concurrency-keys';
import { JobPlacement, JobTarget } from './targets';
import {
  deliveredKinds,
  type JobStatus,
  jobStatuses,
  type LogLevel,
  logLevels,
  type StepStatus,
  stepStatuses,
  type WaitingReason,
  waitingReasons,
} from './job-status';
import { runErrorCodeSaid } from './run-error-codes';

export const maxCost = {
  max: 1_000_000,
  example: 2.5,
  description:
    'Maximum cost of a run in US dollars. A run that costs more is stopped and fails with budget_exceeded. If the ' +
    'launch, its schedule and its workflow have different limits, the lowest applies.',
};
export const installation = {
  description:
    'Pack installation whose pinned version each run uses, unless the launch specifies another installation.',
};
const maxRuntime = {
  min: 1000,
  max: 79_200_000,
  description: 'Maximum duration of the run in milliseconds; defaults to 12 hours. A run that exceeds it fails.',
};

/** Options that every way of launching a job accepts, in addition to the workflow. */
export class RunOptions {
  @TextMapField({
    optional: true,
    example: { CLAIM_ID: 'C-1042' },
    description: 'Text value for each variable of the workflow, by the variable’s name.',
  })
  variables?: Record<string, string>;

  @IntField({ optional: true, max: 20, example: 1 }) maxRetries?: number;
  @IntField({ optional: true, max: 86_400_000, example: 60_000 }) retryDelayMs?: number;
  @EnumField(['fixed', 'exponential'], { optional: true }) retryBackoff?: 'fixed' | 'exponential';
  @IntField({ ...maxRuntime, optional: true, example: 3_600_000 }) maxRuntimeMs?: number;
  @IntField({
    optional: true,
    max: 10,
    example: 5,
    description: 'Priority of the run from 0 to 10; defaults to 5. Runs with a higher priority start first.',
  })
  priority?: number;
  @UsdField({ ...maxCost, optional: true }) maxCostUsd?: number;

  @UuidField({
    optional: true,
    description:
      'Pack installation whose pinned version the run uses; a later pin does not change the run. If it is absent, ' +
      'the installation of the schedule is used, and if that is absent, the installation of the workflow.',
  })
  workflowPackInstallationId?: string;

  @TextListField({
    optional: true,
    max: 128,
    example: ['PORTAL_PASSWORD'],
    description:
      'Names of the vault secrets that the script receives as environment variables. The value of a TOTP secret stays ' +
      'in the service; naming it allows the run to request its codes.',
  })
  vaultKeys?: string[];
}

export class RunOnAgentBody extends RunOptions {
  @UuidField({ optional: true }) workflowId?: string;
  @UuidField({ optional: true, description: 'Alias of workflowId.' }) scriptId?: string;
}

export class LaunchedJob {
  @UuidField() jobId!: string;
  @EnumField(jobStatuses) status!: JobStatus;
}

export class JobProgress {
  @NumberField({ max: 100, example: 40 }) percent!: number;
  @IntField({ example: 5 }) stepsTotal!: number;
  @IntField({ example: 2 }) stepsPassed!: number;
  @IntField({ example: 0 }) stepsFailed!: number;
  @TextField({ nullable: true, example: 'Open the portal' }) currentStep!: string | null;
}

export class JobWaiting {
  @EnumField(waitingReasons) reason!: WaitingReason;
  @DateTimeField() since!: string;
  @ObjectField(() => WaitingDetail, {
    nullable: true,
    description:
      'Concurrency key or pool of accounts that the run waits for. For a run with a target that waits for an agent: ' +
      'the number of agents in each state. Null if the run waits for another reason.',
  })
  detail!: WaitingDetail | null;
}

/** Pack version that a job runs in addition to its script. It is fixed at launch, and retries use the same one. */
export class JobBundle {
  @UuidField() installationId!: string;
  @UuidField() versionId!: string;
  @UuidField() runtimeBundleId!: string;
  @TextField({ max: 71, example: `sha256:${'0'.repeat(64)}` }) digest!: string;
}

export class JobClaims {
  @IntField({ example: 3 }) attempted!: number;
  @IntField({ example: 2 }) eobUploaded!: number;
  @IntField({ example: 1 }) noEobFound!: number;
  @IntField({ example: 0 }) failed!: number;
}

/** Data that a run reported and that was permanently rejected. */
export class JobLack {
  @TextField({
    max: 40,
    example: 'run_summary',
    description: `Kind of the rejected data: one of ${deliveredKinds.join(', ')}.`,
  })
  kind!: string;
  @TextField({
    max: 500,
    example: 'summary of the batch 2026-01-31: batchId must be shorter than or equal to 200 characters',
  })
  reason!: string;
}

export class Job {
  @UuidField() id!: string;
  @EnumField(jobStatuses) status!: JobStatus;
  @BooleanField({
    example: false,
    description: 'Whether cancellation was requested and the agent has not yet confirmed that the run has stopped.',
  })
  cancelling!: boolean;
  @BooleanField({
    example: false,
    description:
      'Whether the running job has made no progress for longer than the service allows (JOB_STALLED_AFTER_MS).',
  })
  stalled!: boolean;
  @UuidField() workflowId!: string;
  @TextField({ example: 'Download EOBs' }) workflowName!: string;
  @IntField({ min: 1, example: 3 }) workflowRevision!: number;
  @UuidField({
    nullable: true,
    description: 'Agent of the job. Null if the job has a target and the dispatcher has not chosen an agent yet.',
  })
  agentId!: string | null;
  @TextField({ nullable: true, example: 'Front desk 1' }) agentName!: string | null;
  @ObjectField(() => JobTarget, {
    nullable: true,
    description: 'Requirements for the agent of the job; null if the launch named the agent.',
  })
  target!: JobTarget | null;
  @ObjectField(() => JobPlacement, {
    nullable: true,
    description: 'Agent that the dispatcher chose, and why. Null if the launch named the agent or none is chosen yet.',
  })
  placement!: JobPlacement | null;
  @UuidField({ nullable: true }) scheduleId!: string | null;
  @UuidField({ nullable: true }) batchId!: string | null;
  @UuidField({ nullable: true }) retryOf!: string | null;
  @IntField({ min: 1, example: 1 }) attempt!: number;
  @IntField({ max: 10, example: 5 }) priority!: number;
  @TextMapField({ example: { CLAIM_ID: 'C-1042' } }) variables!: Record<string, string>;
  @TextField({
    nullable: true,
    max: 10_000,
    example: 'C-1042',
    description: 'Value of the workflow’s first variable, for display in titles and lists.',
  })
  subject!: string | null;
  @IntField({ example: 1 }) maxRetries!: number;
  @IntField({ example: 60_000 }) retryDelayMs!: number;
  @IntField({ example: 43_200_000 }) maxRuntimeMs!: number;
  @UsdField({ ...maxCost, nullable: true }) maxCostUsd!: number | null;
  @ObjectField(() => JobBundle, {
    nullable: true,
    description:
      'Pack version that the job runs; null if it uses no pack installation. The version is fixed at launch; ' +
      'retries and replays use the same version.',
  })
  bundle!: JobBundle | null;
  @DateTimeField() queuedAt!: string;
  @DateTimeField({ nullable: true }) startedAt!: string | null;
  @DateTimeField({ nullable: true }) finishedAt!: string | null;
  @IntField({ nullable: true, example: 61_250 }) durationMs!: number | null;
  @ObjectField(() => JobProgress) progress!: JobProgress;
  @ObjectField(() => JobWaiting, { nullable: true }) waiting!: JobWaiting | null;
  @ObjectField(() => JobAsking, {
    nullable: true,
    description: 'Question that the running job waits for a person to answer; null if there is none.',
  })
  asking!: JobAsking | null;
  @NumberField({ example: 0, description: 'Wall-clock time in seconds that the job has waited for people.' })
  waitingForPersonSeconds!: number;
  @ObjectField(() => JobClaims) claims!: JobClaims;
  @NumberField({ nullable: true, example: 0.0123 }) totalCostUsd!: number | null;
  @TextField({
    nullable: true,
    max: 100_000,
    example: null,
    description:
      'Error message. The first line states what went wrong. The exit of the script and its stack trace follow.',
  })
  error!: string | null;
  @TextField({ nullable: true, max: 64, example: null, description: runErrorCodeSaid }) errorCode!: string | null;
  @ListField(() => JobLack, {
    maxItems: 50,
    example: [],
    description:
      'Data that the run reported but that the service or the object storage permanently rejected, and that is ' +
      'therefore missing. Each item is also in the log of the run, as an error. Empty if all data arrived.',
  })
  incomplete!: JobLack[];
  @AnyJsonField({ nullable: true, description: 'Result that the script reported.' }) result!: unknown;
  @TextField({
    nullable: true,
    max: 4096,
    example: null,
    description: 'URL of the run’s screenshot, valid for one hour; null if there is none.',
  })
  screenshotUrl!: string | null;
}

export class JobList {
  @ListField(() => Job) jobs!: Job[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class JobStatusAnswer {
  @UuidField() jobId!: string;
  @EnumField(jobStatuses) status!: JobStatus;
  @AnyJsonField({ nullable: true }) result!: unknown;
  @TextField({ nullable: true, max: 100_000, example: null }) error!: string | null;
  @NumberField({ nullable: true, example: 0.0123 }) totalCostUsd!: number | null;
  @TextField({ nullable: true, max: 4096, example: null }) screenshotUrl!: string | null;
  @DateTimeField({ nullable: true }) finishedAt!: string | null;
}

export class JobStatusQuery {
  @UuidField() jobId!: string;
}

export class JobStep {
  @IntField({ example: 1 }) stepOrder!: number;
  @TextField({ nullable: true, example: 'open' }) stepId!: string | null;
  @TextField({ nullable: true, max: 500, example: 'Open the portal' }) name!: string | null;
  @EnumField(stepStatuses) status!: StepStatus;
  @DateTimeField({ nullable: true }) startedAt!: string | null;
  @DateTimeField({ nullable: true }) finishedAt!: string | null;
  @TextField({ nullable: true, max: 100_000, example: null }) error!: string | null;
  @AnyJsonField({ nullable: true }) metadata!: unknown;
  @NumberField({ example: 0.0031 }) costUsd!: number;
}

export class JobStepList {
  @ListField(() => JobStep) steps!: JobStep[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class RunListItem {
  @UuidField() id!: string;
  @EnumField(jobStatuses) status!: JobStatus;
  @DateTimeField({ nullable: true }) startedAt!: string | null;
  @NumberField({
    nullable: true,
    example: 61.25,
    description: 'Duration in seconds; null while the run is in progress.',
  })
  duration!: number | null;
  @NumberField({ example: 0.0123, description: 'Cost of the run’s AI calls in US dollars.' }) totalCost!: number;
  @IntField({ example: 5 }) totalSteps!: number;
  @IntField({ example: 5 }) passedSteps!: number;
  @IntField({ example: 0 }) failedSteps!: number;
  @TextField({ nullable: true, max: 100_000, example: null }) error!: string | null;
}

export class RunList {
  @ListField(() => RunListItem, { maxItems: 20 }) runs!: RunListItem[];
}

export class StepQuery {
  @QueryIntField({ optional: true, min: 1, max: 200 }) limit?: number;
  @TextField({ optional: true, max: 500 }) cursor?: string;
}

export class JobLogsQuery extends PageQuery {
  @EnumField(listOrders, {
    optional: true,
    example: 'asc',
    description: 'Order of the entries; defaults to asc, the oldest first.',
  })
  order?: (typeof listOrders)[number];
  @EnumField(logLevels, { optional: true }) level?: LogLevel;
  @TextField({ optional: true, description: 'Part of the message; case is ignored.' }) q?: string;
  @DateTimeField({ optional: true }) from?: string;
  @DateTimeField({ optional: true }) to?: string;
}
