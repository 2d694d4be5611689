import {
  BooleanField,
  DateTimeField,
  EnumField,
  IntField,
  ListField,
  ObjectField,
  QueryIntField,
  TextField,
  TextListField,
  TextMapField,
  UsdField,
  UuidField,
} from '../fields';
import { AccountRequest, requestedAccounts } from '../jobs/accounts';
import { ConcurrencyKey } from '../jobs/concurrency-keys';
import { installation, maxCost } from '../jobs/jobs';
import { JobTarget, RunTarget } from '../jobs/targets';
import { PageQuery } from '../pages';

/** Policies for missed runs: launch the newest, none, or all. */
export const misfirePolicies = ['once', 'skip', 'all'] as const;
export type MisfirePolicy = (typeof misfirePolicies)[number];

export const tickOutcomes = ['launched', 'skipped', 'failed'] as const;
export type TickOutcome = (typeof tickOutcomes)[number];

/** Reasons why a due schedule started no run. */
export const skipReasons = [
  'not_due',
  'disabled',
  'concurrency_limit',
  'idempotency_window',
  'billing_gate',
  'agent_not_ready',
  'no_agent_fits',
  'secret_missing',
  'locked',
  'misfire',
] as const;
export type SkipReason = (typeof skipReasons)[number];

export const clockShifts = ['gap', 'overlap'] as const;

const name = { max: 200, visible: true, example: 'Nightly EOBs' };
const scriptId = { description: 'Workflow to run.' };
const target = {
  description: 'Requirements for the agents of the runs: each run starts on any agent that has all of the labels.',
};
const cronExpression = {
  min: 0,
  max: 1000,
  example: '30 6 * * MON-FRI',
  description:
    'Cron expression with the fields minute, hour, day of month, month and day of week. A field can contain *, ' +
    'lists, ranges, steps and names. If neither day field is *, a day must match only one of them.',
};
const timezone = { max: 64, example: 'America/Chicago', description: 'Time zone name of the IANA database.' };
const variables = { example: {}, description: 'Text value for each variable of the workflow, by the variable’s name.' };
const vaultKeys = {
  max: 128,
  example: ['PORTAL_PASSWORD'],
  description:
    'Names of the vault secrets that the script receives as environment variables, read from the vault right before ' +
    'each run. The value of a TOTP secret stays in the service; naming it allows the runs to request its codes.',
};
const maxRuntimeMinutes = { min: 1, max: 1320, example: 720 };
const maxRetries = { max: 20, example: 0 };
const retryDelaySeconds = { max: 86_400, example: 60 };
const concurrencyKeys = {
  maxItems: 5,
  description:
    'Concurrency keys that each run of the schedule requires, in addition to those of its workflow. A run starts ' +
    'when every key is below its limit, and holds the keys until it ends.',
};
const concurrencyLimit = {
  min: 1,
  max: 1000,
  nullable: true,
  example: 1,
  description:
    'Maximum number of runs of the schedule that are queued or running at the same time. While this number ' +
    'is reached, scheduled times are skipped. Null for no limit.',
};
const idempotencyWindowMinutes = {
  max: 10_080,
  nullable: true,
  example: 10,
  description:
    'Minimum time in minutes between two launches of the schedule. A scheduled time that is less than this time ' +
    'after the last launch is skipped. Null or 0 for no minimum.',
};
const misfirePolicy = {
  example: 'once',
  description:
    'Policy for scheduled times that were missed by more than 60 seconds: `once` launches a run for the newest ' +
    'missed time, `skip` launches none, and `all` launches a run for each of the newest 100. The other missed times ' +
    'are recorded as skipped.',
};

export class CreateScheduleBody {
  @TextField(name) name!: string;
  @UuidField(scriptId) scriptId!: string;
  @UuidField({ optional: true, description: 'Agent of the runs. Specify either agentId or target.' }) agentId?: string;
  @ObjectField(() => RunTarget, { ...target, optional: true }) target?: RunTarget;
  @TextField(cronExpression) cronExpression!: string;
  @TextField({
    ...timezone,
    optional: true,
    description: 'Time zone name of the IANA database; defaults to the organization’s time zone.',
  })
  timezone?: string;
  @BooleanField({ optional: true, example: true }) enabled?: boolean;
  @TextMapField({ ...variables, optional: true }) variables?: Record<string, string>;
  @TextListField({ ...vaultKeys, optional: true }) vaultKeys?: string[];
  @IntField({ ...maxRuntimeMinutes, optional: true }) maxRuntimeMinutes?: number;
  @IntField({ ...maxRetries, optional: true }) maxRetries?: number;
  @IntField({ ...retryDelaySeconds, optional: true }) retryDelaySeconds?: number;
  @ListField(() => ConcurrencyKey, { ...concurrencyKeys, optional: true }) concurrencyKeys?: ConcurrencyKey[];
  @ListField(() => AccountRequest, { ...requestedAccounts, optional: true }) accounts?: AccountRequest[];
  @IntField({ ...concurrencyLimit, optional: true }) concurrencyLimit?: number | null;
  @IntField({ ...idempotencyWindowMinutes, optional: true }) idempotencyWindowMinutes?: number | null;
  @EnumField(misfirePolicies, { ...misfirePolicy, optional: true }) misfirePolicy?: MisfirePolicy;
  @UsdField({ ...maxCost, optional: true, nullable: true }) maxCostUsd?: number | null;
  @UuidField({ ...installation, optional: true, nullable: true }) workflowPackInstallationId?: string | null;
}

/** Changes of a schedule. Absent fields stay unchanged. */
export class UpdateScheduleBody {
  @TextField({ ...name, optional: true }) name?: string;
  @UuidField({ ...scriptId, optional: true }) scriptId?: string;
  @UuidField({ optional: true, description: 'Agent of the runs, which replaces a target.' }) agentId?: string;
  @ObjectField(() => RunTarget, { ...target, optional: true }) target?: RunTarget;
  @TextField({ ...cronExpression, optional: true }) cronExpression?: string;
  @TextField({ ...timezone, optional: true }) timezone?: string;
  @BooleanField({ optional: true, example: true }) enabled?: boolean;
  @TextMapField({ ...variables, optional: true }) variables?: Record<string, string>;
  @TextListField({ ...vaultKeys, optional: true }) vaultKeys?: string[];
  @IntField({ ...maxRuntimeMinutes, optional: true }) maxRuntimeMinutes?: number;
  @IntField({ ...maxRetries, optional: true }) maxRetries?: number;
  @IntField({ ...retryDelaySeconds, optional: true }) retryDelaySeconds?: number;
  @ListField(() => ConcurrencyKey, { ...concurrencyKeys, optional: true }) concurrencyKeys?: ConcurrencyKey[];
  @ListField(() => AccountRequest, { ...requestedAccounts, optional: true }) accounts?: AccountRequest[];
  @IntField({ ...concurrencyLimit, optional: true }) concurrencyLimit?: number | null;
  @IntField({ ...idempotencyWindowMinutes, optional: true }) idempotencyWindowMinutes?: number | null;
  @EnumField(misfirePolicies, { ...misfirePolicy, optional: true }) misfirePolicy?: MisfirePolicy;
  @UsdField({ ...maxCost, optional: true, nullable: true }) maxCostUsd?: number | null;
  @UuidField({ ...installation, optional: true, nullable: true }) workflowPackInstallationId?: string | null;
}

export class Schedule {
  @UuidField() id!: string;
  @TextField(name) name!: string;
  @UuidField(scriptId) scriptId!: string;
  @UuidField({ nullable: true, description: 'Agent of the runs; null if the schedule has a target.' }) agentId!:
    string | null;
  @ObjectField(() => JobTarget, { ...target, nullable: true }) target!: JobTarget | null;
  @TextField(cronExpression) cronExpression!: string;
  @TextField(timezone) timezone!: string;
  @BooleanField({ example: true }) enabled!: boolean;
  @TextMapField(variables) variables!: Record<string, string>;
  @TextListField(vaultKeys) vaultKeys!: string[];
  @IntField(maxRuntimeMinutes) maxRuntimeMinutes!: number;
  @IntField(maxRetries) maxRetries!: number;
  @IntField(retryDelaySeconds) retryDelaySeconds!: number;
  @ListField(() => ConcurrencyKey, concurrencyKeys) concurrencyKeys!: ConcurrencyKey[];
  @ListField(() => AccountRequest, requestedAccounts) accounts!: AccountRequest[];
  @IntField(concurrencyLimit) concurrencyLimit!: number | null;
  @IntField(idempotencyWindowMinutes) idempotencyWindowMinutes!: number | null;
  @EnumField(misfirePolicies, misfirePolicy) misfirePolicy!: MisfirePolicy;
  @UsdField({ ...maxCost, nullable: true }) maxCostUsd!: number | null;
  @UuidField({ ...installation, nullable: true }) workflowPackInstallationId!: string | null;
  @DateTimeField({
    nullable: true,
    description: 'Time of the next run; null if the schedule is disabled or its expression matches no future time.',
  })
  nextRunAt!: string | null;
  @DateTimeField({
    nullable: true,
    description: 'Time at which the schedule last launched a run; null if it never did.',
  })
  lastRunAt!: string | null;
  @UuidField({ nullable: true }) lastRunJobId!: string | null;
  @EnumField(tickOutcomes, { nullable: true, description: 'Outcome of the latest due run; null before the first.' })
  lastResult!: TickOutcome | null;
  @DateTimeField() createdAt!: string;
  @DateTimeField() updatedAt!: string;
}

export class ScheduleRun {
  @DateTimeField({ description: 'Time at which the run was due; for a forced run, the time at which it was forced.' })
  nominalAt!: string;
  @DateTimeField() firedAt!: string;
  @EnumField(tickOutcomes) outcome!: TickOutcome;
  @TextField({
    nullable: true,
    example: 'concurrency_limit',
    description: `Null for a launched run, the error code for a failed run, or one of ${skipReasons.join(', ')}.`,
  })
  reason!: string | null;
  @TextField({ nullable: true, max: 2000, example: '1 of 1 runs are queued or running' }) detail!: string | null;
  @BooleanField({ example: false }) forced!: boolean;
  @UuidField({ nullable: true }) jobId!: string | null;
}

export class ScheduleDetail extends Schedule {
  @ListField(() => ScheduleRun, { maxItems: 50, description: 'Latest due runs with their outcomes, newest first.' })
  recentRuns!: ScheduleRun[];
}

export class ScheduleList {
  @ListField(() => Schedule) schedules!: Schedule[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

const scheduleSorts = [
  'name',
  '-name',
  'nextRunAt',
  '-nextRunAt',
  'lastRunAt',
  '-lastRunAt',
  'createdAt',
  '-createdAt',
] as const;
export type ScheduleSort = (typeof scheduleSorts)[number];

export class ScheduleQuery extends PageQuery {
  @UuidField({ optional: true }) agentId?: string;
  @UuidField({ optional: true }) scriptId?: string;
  @EnumField(['true', 'false'], {
    optional: true,
    description: 'Whether to list enabled schedules (true) or paused schedules (false).',
  })
  enabled?: 'true' | 'false';
  @TextField({ optional: true, max: 200, description: 'Part of the schedule’s name.' }) q?: string;
  @EnumField(scheduleSorts, {
    optional: true,
    example: 'createdAt',
    description:
      'Sort field; a leading `-` sorts in descending order. Defaults to createdAt. Schedules without a value come ' +
      'last.',
  })
  sort?: ScheduleSort;
}

export class DeleteScheduleQuery {
  @EnumField(['true', 'false'], {
    optional: true,
    example: 'false',
    description: 'Whether to delete the schedule with its history (true). Otherwise the schedule is disabled.',
  })
  hard?: 'true' | 'false';
}

export class PreviewQuery {
  @QueryIntField({ optional: true, min: 1, max: 100, description: 'Number of runs to preview; defaults to 10.' })
  count?: number;
}

export class PreviewScheduleBody {
  @TextField(cronExpression) cronExpression!: string;
  @TextField({
    ...timezone,
    optional: true,
    description: 'Time zone name of the IANA database; defaults to the organization’s time zone.',
  })
  timezone?: string;
  @IntField({ optional: true, min: 1, max: 100, example: 10 }) count?: number;
}

export class PreviewRun {
  @DateTimeField() at!: string;
  @TextField({
    example: '2026-03-08T03:00:00-05:00',
    description: 'Local time of the run in the time zone of the schedule.',
  })
  local!: string;
  @EnumField(clockShifts, {
    nullable: true,
    description:
      'Effect of a clock change on the run; null if there is none. `gap`: the local time does not exist on that day, ' +
      'and the run starts right after the gap. `overlap`: the local time occurs twice, and the run starts the first ' +
      'time.',
  })
  shift!: 'gap' | 'overlap' | null;
}

export class SchedulePreview {
  @TextField(cronExpression) cronExpression!: string;
  @TextField(timezone) timezone!: string;
  @ListField(() => PreviewRun, { maxItems: 100 }) runs!: PreviewRun[];
}

export class ExecuteSchedulesBody {
  @BooleanField({
    optional: true,
    example: false,
    description: 'Whether to report only what would happen and change nothing.',
  })
  dryRun?: boolean;
  @BooleanField({
    optional: true,
    example: false,
    description:
      'Whether to run the schedule once now, even if it is not due or is disabled, and wake its agent. Requires ' +
      'scheduleId.',
  })
  force?: boolean;
  @IntField({
    optional: true,
    min: 1,
    max: 100,
    example: 25,
    description: 'Maximum number of due schedules to process.',
  })
  limit?: number;
  @UuidField({ optional: true, nullable: true }) scheduleId?: string | null;
}

export class LaunchedTick {
  @UuidField() scheduleId!: string;
  @UuidField({ nullable: true, description: 'Launched job; null in a dry run.' }) jobId!: string | null;
  @DateTimeField() nominalAt!: string;
}

export class SkippedTick {
  @UuidField() scheduleId!: string;
  @EnumField(skipReasons) reason!: SkipReason;
  @DateTimeField({
    nullable: true,
    description: 'Time at which the run was due; if several runs were missed, the time of the newest.',
  })
  nominalAt!: string | null;
}

export class FailedTick {
  @UuidField() scheduleId!: string;
  @TextField({ example: 'invalid_payload' }) reason!: string;
  @TextField({ max: 2000, example: 'the workflow needs the variable CLAIM_ID' }) detail!: string;
  @DateTimeField({ nullable: true }) nominalAt!: string | null;
}

export class ScheduleTicks {
  @BooleanField({ example: false }) dryRun!: boolean;
  @IntField({ example: 1, description: 'Number of schedules that were checked.' }) scanned!: number;
  @ListField(() => LaunchedTick) launched!: LaunchedTick[];
  @ListField(() => SkippedTick) skipped!: SkippedTick[];
  @ListField(() => FailedTick) failed!: FailedTick[];
}
