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
import { ConcurrencyKey, WaitingForKey } from './concurrency-keys';
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
    'A run that costs more is stopped and fails with budget_exceeded. Of the limits of the launch, its schedule and its workflow the least holds.',
};
export const installation = {
  description: 'The pack installation whose pinned version its runs bring along, unless their launch names another.',
};
const maxRuntime = { min: 1000, max: 79_200_000, description: 'The run fails past this; 12 hours when absent.' };

/** What every way of making a job takes beside the workflow. */
export class RunOptions {
  @TextMapField({
    optional: true,
    example: { CLAIM_ID: 'C-1042' },
    description: 'A text for each variable that the workflow names.',
  })
  variables?: Record<string, string>;

  @IntField({ optional: true, max: 20, example: 1 }) maxRetries?: number;
  @IntField({ optional: true, max: 86_400_000, example: 60_000 }) retryDelayMs?: number;
  @EnumField(['fixed', 'exponential'], { optional: true }) retryBackoff?: 'fixed' | 'exponential';
  @IntField({ ...maxRuntime, optional: true, example: 3_600_000 }) maxRuntimeMs?: number;
  @IntField({ optional: true, max: 10, example: 5, description: '10 goes first.' }) priority?: number;
  @UsdField({ ...maxCost, optional: true }) maxCostUsd?: number;

  @UuidField({
    optional: true,
    description:
      'The run brings along the version that this installation is pinned to at this moment. Of the installations of ' +
      'the launch, its schedule and its workflow the first holds.',
  })
  workflowPackInstallationId?: string;

  @TextListField({
    optional: true,
    max: 128,
    example: ['PORTAL_PASSWORD'],
    description: 'Vault secrets that the script finds in its environment.',
  })
  vaultKeys?: string[];
}

export class LaunchJobBody extends RunOptions {
  @UuidField() workflowId!: string;
  @UuidField() agentId!: string;

  @ListField(() => ConcurrencyKey, {
    optional: true,
    maxItems: 5,
    description:
      'The run starts when each of these has room, and holds them until it ends; a retry asks for them anew.',
  })
  concurrencyKeys?: ConcurrencyKey[];
}

export class RunOnAgentBody extends RunOptions {
  @UuidField({ optional: true }) workflowId?: string;
  @UuidField({ optional: true, description: 'Another name for workflowId.' }) scriptId?: string;
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
  @ObjectField(() => WaitingForKey, { nullable: true, description: 'Of a run that waits for a concurrency key.' })
  detail!: WaitingForKey | null;
}

/** What a job runs beside its script: fixed when it is launched, and kept by its retries. */
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

/** Something that a run reported and that is missing from it for good. */
export class JobLack {
  @TextField({ max: 40, example: 'run_summary', description: `One of ${deliveredKinds.join(', ')}.` }) kind!: string;
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
    description: 'It is to end, and its agent has not yet said that nothing of it runs.',
  })
  cancelling!: boolean;
  @BooleanField({ example: false, description: 'It runs, and has made no progress for longer than it should.' })
  stalled!: boolean;
  @UuidField() workflowId!: string;
  @TextField({ example: 'Download EOBs' }) workflowName!: string;
  @IntField({ min: 1, example: 3 }) workflowRevision!: number;
  @UuidField() agentId!: string;
  @TextField({ example: 'Front desk 1' }) agentName!: string;
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
    description: 'What it is about: the value of its workflow’s first variable, for titles and lists.',
  })
  subject!: string | null;
  @IntField({ example: 1 }) maxRetries!: number;
  @IntField({ example: 60_000 }) retryDelayMs!: number;
  @IntField({ example: 43_200_000 }) maxRuntimeMs!: number;
  @UsdField({ ...maxCost, nullable: true }) maxCostUsd!: number | null;
  @ObjectField(() => JobBundle, {
    nullable: true,
    description:
      'What it runs of an installation: fixed when it was launched, and the same for its retries and replays.',
  })
  bundle!: JobBundle | null;
  @DateTimeField() queuedAt!: string;
  @DateTimeField({ nullable: true }) startedAt!: string | null;
  @DateTimeField({ nullable: true }) finishedAt!: string | null;
  @IntField({ nullable: true, example: 61_250 }) durationMs!: number | null;
  @ObjectField(() => JobProgress) progress!: JobProgress;
  @ObjectField(() => JobWaiting, { nullable: true }) waiting!: JobWaiting | null;
  @ObjectField(() => JobAsking, { nullable: true, description: 'It runs, and waits for a person’s answer.' })
  asking!: JobAsking | null;
  @NumberField({ example: 0, description: 'How long it has waited for people, on the clock.' })
  waitingForPersonSeconds!: number;
  @ObjectField(() => JobClaims) claims!: JobClaims;
  @NumberField({ nullable: true, example: 0.0123 }) totalCostUsd!: number | null;
  @TextField({
    nullable: true,
    max: 100_000,
    example: null,
    description: 'Its first line says what went wrong; how the script ended and its trace follow.',
  })
  error!: string | null;
  @TextField({ nullable: true, max: 64, example: null, description: runErrorCodeSaid }) errorCode!: string | null;
  @ListField(() => JobLack, {
    maxItems: 50,
    example: [],
    description:
      'What the run reported and the service or the storage refused for good, so that it is missing here; each also stands in the ' +
      'run’s log as an error. Empty for a run of which everything arrived.',
  })
  incomplete!: JobLack[];
  @AnyJsonField({ nullable: true, description: 'What the script gave as its result.' }) result!: unknown;
  @TextField({ nullable: true, max: 4096, example: null, description: 'Valid for an hour.' }) screenshotUrl!:
    string | null;
}

export class JobList {
  @ListField(() => Job) jobs!: Job[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

const jobSorts = [
  ...(['queuedAt', '-queuedAt', 'startedAt', '-startedAt', 'finishedAt', '-finishedAt'] as const),
  ...(['durationMs', '-durationMs', 'totalCostUsd', '-totalCostUsd'] as const),
] as const;
export type JobSort = (typeof jobSorts)[number];
const jobSortsSaid =
  'With - the greatest first; -queuedAt when absent. What has no value yet comes last; a cost has one when its run is over.';

/** Which jobs, and in which order; every one that is given must fit. */
export class JobFilter extends PageQuery {
  @EnumField(jobStatuses, { optional: true }) status?: JobStatus;
  @UuidField({ optional: true }) agentId?: string;
  @UuidField({ optional: true }) workflowId?: string;
  @UuidField({ optional: true }) scheduleId?: string;
  @UuidField({ optional: true }) batchId?: string;
  @DateTimeField({ optional: true, description: 'Queued then or later.' }) from?: string;
  @DateTimeField({ optional: true, description: 'Queued before.' }) to?: string;
  @TextField({
    optional: true,
    max: 200,
    description: 'A run’s id, or a part of it, of the error, of a variable’s value or of the workflow’s name.',
  })
  q?: string;
  @TextField({ optional: true, max: 200, description: 'A part of the error.' }) error?: string;
  @TextField({
    optional: true,
    max: 200,
    example: 'CLAIM_ID=C-1042',
    description: 'A part of a variable’s value; with NAME= before it, of the variable that is called so.',
  })
  variable?: string;
  @TextField({
    optional: true,
    max: 16,
    pattern: /^[0-9a-f]{16}$/,
    description: 'Failed runs with this cause, as GET /api/jobs/failures names it.',
  })
  cause?: string;
  @EnumField(jobSorts, { optional: true, example: '-queuedAt', description: jobSortsSaid }) sort?: JobSort;
}

/** As the list has them, but whole. */
export class JobsExportQuery {
  @EnumField(jobStatuses, { optional: true }) status?: JobStatus;
  @UuidField({ optional: true }) agentId?: string;
  @UuidField({ optional: true }) workflowId?: string;
  @UuidField({ optional: true }) scheduleId?: string;
  @UuidField({ optional: true }) batchId?: string;
  @DateTimeField({ optional: true, description: 'Queued then or later.' }) from?: string;
  @DateTimeField({ optional: true, description: 'Queued before.' }) to?: string;
  @TextField({
    optional: true,
    max: 200,
    description: 'A run’s id, or a part of it, of the error, of a variable’s value or of the workflow’s name.',
  })
  q?: string;
  @TextField({ optional: true, max: 200, description: 'A part of the error.' }) error?: string;
  @TextField({
    optional: true,
    max: 200,
    example: 'CLAIM_ID=C-1042',
    description: 'A part of a variable’s value; with NAME= before it, of the variable that is called so.',
  })
  variable?: string;
  @TextField({
    optional: true,
    max: 16,
    pattern: /^[0-9a-f]{16}$/,
    description: 'Failed runs with this cause, as GET /api/jobs/failures names it.',
  })
  cause?: string;
  @EnumField(jobSorts, { optional: true, example: '-queuedAt', description: jobSortsSaid }) sort?: JobSort;
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
  @NumberField({ nullable: true, example: 61.25, description: 'Seconds.' }) duration!: number | null;
  @NumberField({ example: 0.0123, description: 'What its AI calls cost, USD.' }) totalCost!: number;
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
  @EnumField(listOrders, { optional: true, example: 'asc', description: 'asc when absent: the oldest first.' })
  order?: (typeof listOrders)[number];
  @EnumField(logLevels, { optional: true }) level?: LogLevel;
  @TextField({ optional: true, description: 'A part of the message, in any case.' }) q?: string;
  @DateTimeField({ optional: true }) from?: string;
  @DateTimeField({ optional: true }) to?: string;
}
