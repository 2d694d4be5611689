import {
  BooleanField,
  DateTimeField,
  EnumField,
  IntField,
  ListField,
  QueryIntField,
  TextField,
  TextListField,
  TextMapField,
  UsdField,
  UuidField,
} from '../fields';
import { ConcurrencyKey } from '../jobs/concurrency-keys';
import { installation, maxCost } from '../jobs/jobs';
import { PageQuery } from '../pages';

/** What becomes of runs that nobody was there for: one of them, none, or all. */
export const misfirePolicies = ['once', 'skip', 'all'] as const;
export type MisfirePolicy = (typeof misfirePolicies)[number];

export const tickOutcomes = ['launched', 'skipped', 'failed'] as const;
export type TickOutcome = (typeof tickOutcomes)[number];

/** Why a tick launched nothing. */
export const skipReasons = [
  'not_due',
  'disabled',
  'concurrency_limit',
  'idempotency_window',
  'billing_gate',
  'agent_not_ready',
  'secret_missing',
  'locked',
  'misfire',
] as const;
export type SkipReason = (typeof skipReasons)[number];

export const clockShifts = ['gap', 'overlap'] as const;

const name = { max: 200, visible: true, example: 'Nightly EOBs' };
const scriptId = { description: 'The workflow that runs.' };
const cronExpression = {
  min: 0,
  max: 1000,
  example: '30 6 * * MON-FRI',
  description:
    'Minute, hour, day of month, month, day of week, with *, lists, ranges, steps and names. With both days ' +
    'restricted, either one is enough.',
};
const timezone = { max: 64, example: 'America/Chicago', description: 'A name of the IANA database.' };
const variables = { example: {}, description: 'A text for each variable that the workflow names.' };
const vaultKeys = {
  max: 128,
  example: ['PORTAL_PASSWORD'],
  description: 'Vault secrets that the script finds in its environment, resolved right before each run.',
};
const maxRuntimeMinutes = { min: 1, max: 1320, example: 720 };
const maxRetries = { max: 20, example: 0 };
const retryDelaySeconds = { max: 86_400, example: 60 };
const concurrencyKeys = {
  maxItems: 5,
  description: 'Each run of it starts when each of these and of its workflow’s has room, and holds them until it ends.',
};
const concurrencyLimit = {
  min: 1,
  max: 1000,
  nullable: true,
  example: 1,
  description: 'A tick is skipped while so many runs of the schedule are queued or running; null for no limit.',
};
const idempotencyWindowMinutes = {
  max: 10_080,
  nullable: true,
  example: 10,
  description: 'A tick is skipped when a run was launched less than this before; null or 0 for no window.',
};
const misfirePolicy = {
  example: 'once',
  description:
    'Of the runs missed by more than 60 seconds: once runs the newest, skip none, all the newest 100. The others are ' +
    'recorded as skipped.',
};

export class CreateScheduleBody {
  @TextField(name) name!: string;
  @UuidField(scriptId) scriptId!: string;
  @UuidField() agentId!: string;
  @TextField(cronExpression) cronExpression!: string;
  @TextField({ ...timezone, optional: true, description: 'The organization’s own when absent.' }) timezone?: string;
  @BooleanField({ optional: true, example: true }) enabled?: boolean;
  @TextMapField({ ...variables, optional: true }) variables?: Record<string, string>;
  @TextListField({ ...vaultKeys, optional: true }) vaultKeys?: string[];
  @IntField({ ...maxRuntimeMinutes, optional: true }) maxRuntimeMinutes?: number;
  @IntField({ ...maxRetries, optional: true }) maxRetries?: number;
  @IntField({ ...retryDelaySeconds, optional: true }) retryDelaySeconds?: number;
  @ListField(() => ConcurrencyKey, { ...concurrencyKeys, optional: true }) concurrencyKeys?: ConcurrencyKey[];
  @IntField({ ...concurrencyLimit, optional: true }) concurrencyLimit?: number | null;
  @IntField({ ...idempotencyWindowMinutes, optional: true }) idempotencyWindowMinutes?: number | null;
  @EnumField(misfirePolicies, { ...misfirePolicy, optional: true }) misfirePolicy?: MisfirePolicy;
  @UsdField({ ...maxCost, optional: true, nullable: true }) maxCostUsd?: number | null;
  @UuidField({ ...installation, optional: true, nullable: true }) workflowPackInstallationId?: string | null;
}

/** What is left out stays. */
export class UpdateScheduleBody {
  @TextField({ ...name, optional: true }) name?: string;
  @UuidField({ ...scriptId, optional: true }) scriptId?: string;
  @UuidField({ optional: true }) agentId?: string;
  @TextField({ ...cronExpression, optional: true }) cronExpression?: string;
  @TextField({ ...timezone, optional: true }) timezone?: string;
  @BooleanField({ optional: true, example: true }) enabled?: boolean;
  @TextMapField({ ...variables, optional: true }) variables?: Record<string, string>;
  @TextListField({ ...vaultKeys, optional: true }) vaultKeys?: string[];
  @IntField({ ...maxRuntimeMinutes, optional: true }) maxRuntimeMinutes?: number;
  @IntField({ ...maxRetries, optional: true }) maxRetries?: number;
  @IntField({ ...retryDelaySeconds, optional: true }) retryDelaySeconds?: number;
  @ListField(() => ConcurrencyKey, { ...concurrencyKeys, optional: true }) concurrencyKeys?: ConcurrencyKey[];
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
  @UuidField() agentId!: string;
  @TextField(cronExpression) cronExpression!: string;
  @TextField(timezone) timezone!: string;
  @BooleanField({ example: true }) enabled!: boolean;
  @TextMapField(variables) variables!: Record<string, string>;
  @TextListField(vaultKeys) vaultKeys!: string[];
  @IntField(maxRuntimeMinutes) maxRuntimeMinutes!: number;
  @IntField(maxRetries) maxRetries!: number;
  @IntField(retryDelaySeconds) retryDelaySeconds!: number;
  @ListField(() => ConcurrencyKey, concurrencyKeys) concurrencyKeys!: ConcurrencyKey[];
  @IntField(concurrencyLimit) concurrencyLimit!: number | null;
  @IntField(idempotencyWindowMinutes) idempotencyWindowMinutes!: number | null;
  @EnumField(misfirePolicies, misfirePolicy) misfirePolicy!: MisfirePolicy;
  @UsdField({ ...maxCost, nullable: true }) maxCostUsd!: number | null;
  @UuidField({ ...installation, nullable: true }) workflowPackInstallationId!: string | null;
  @DateTimeField({ nullable: true, description: 'Null while it is disabled.' }) nextRunAt!: string | null;
  @DateTimeField({ nullable: true, description: 'When it last launched a run.' }) lastRunAt!: string | null;
  @UuidField({ nullable: true }) lastRunJobId!: string | null;
  @EnumField(tickOutcomes, { nullable: true, description: 'What became of its last tick.' })
  lastResult!: TickOutcome | null;
  @DateTimeField() createdAt!: string;
  @DateTimeField() updatedAt!: string;
}

export class ScheduleRun {
  @DateTimeField({ description: 'The time that the expression names; for a forced run, when it was forced.' })
  nominalAt!: string;
  @DateTimeField() firedAt!: string;
  @EnumField(tickOutcomes) outcome!: TickOutcome;
  @TextField({
    nullable: true,
    example: 'concurrency_limit',
    description: `Null for a launched run; ${skipReasons.join(', ')} for a skipped one; the error's code for a failed one.`,
  })
  reason!: string | null;
  @TextField({ nullable: true, max: 2000, example: 'one run of one is under way' }) detail!: string | null;
  @BooleanField({ example: false }) forced!: boolean;
  @UuidField({ nullable: true }) jobId!: string | null;
}

export class ScheduleDetail extends Schedule {
  @ListField(() => ScheduleRun, { maxItems: 50, description: 'Newest first.' }) recentRuns!: ScheduleRun[];
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
  @EnumField(['true', 'false'], { optional: true, description: 'false: those that are paused.' })
  enabled?: 'true' | 'false';
  @TextField({ optional: true, max: 200, description: 'A part of the name.' }) q?: string;
  @EnumField(scheduleSorts, {
    optional: true,
    example: 'createdAt',
    description: 'With - the greatest first; createdAt when absent. What has no value comes last.',
  })
  sort?: ScheduleSort;
}

export class DeleteScheduleQuery {
  @EnumField(['true', 'false'], {
    optional: true,
    example: 'false',
    description: 'true deletes it with its history; otherwise it is disabled.',
  })
  hard?: 'true' | 'false';
}

export class PreviewQuery {
  @QueryIntField({ optional: true, min: 1, max: 100, description: 'How many runs; 10 when absent.' }) count?: number;
}

export class PreviewScheduleBody {
  @TextField(cronExpression) cronExpression!: string;
  @TextField({ ...timezone, optional: true, description: 'The organization’s own when absent.' }) timezone?: string;
  @IntField({ optional: true, min: 1, max: 100, example: 10 }) count?: number;
}

export class PreviewRun {
  @DateTimeField() at!: string;
  @TextField({ example: '2026-03-08T03:00:00-05:00', description: 'The same, as the zone’s clocks show it.' })
  local!: string;
  @EnumField(clockShifts, {
    nullable: true,
    description:
      'gap: its time does not exist that day, so it runs right after; overlap: its time comes twice, and it runs the ' +
      'first time.',
  })
  shift!: 'gap' | 'overlap' | null;
}

export class SchedulePreview {
  @TextField(cronExpression) cronExpression!: string;
  @TextField(timezone) timezone!: string;
  @ListField(() => PreviewRun, { maxItems: 100 }) runs!: PreviewRun[];
}

export class ExecuteSchedulesBody {
  @BooleanField({ optional: true, example: false, description: 'Says what would happen and changes nothing.' })
  dryRun?: boolean;
  @BooleanField({
    optional: true,
    example: false,
    description: 'Runs the schedule once now, due or not, enabled or not, and wakes its agent. Needs scheduleId.',
  })
  force?: boolean;
  @IntField({ optional: true, min: 1, max: 100, example: 25, description: 'How many due schedules at most.' })
  limit?: number;
  @UuidField({ optional: true, nullable: true }) scheduleId?: string | null;
}

export class LaunchedTick {
  @UuidField() scheduleId!: string;
  @UuidField({ nullable: true, description: 'Null in a dry run.' }) jobId!: string | null;
  @DateTimeField() nominalAt!: string;
}

export class SkippedTick {
  @UuidField() scheduleId!: string;
  @EnumField(skipReasons) reason!: SkipReason;
  @DateTimeField({ nullable: true, description: 'Of several missed ones, the newest.' }) nominalAt!: string | null;
}

export class FailedTick {
  @UuidField() scheduleId!: string;
  @TextField({ example: 'invalid_payload' }) reason!: string;
  @TextField({ max: 2000, example: 'the workflow needs the variable CLAIM_ID' }) detail!: string;
  @DateTimeField({ nullable: true }) nominalAt!: string | null;
}

export class ScheduleTicks {
  @BooleanField({ example: false }) dryRun!: boolean;
  @IntField({ example: 1, description: 'How many schedules were looked at.' }) scanned!: number;
  @ListField(() => LaunchedTick) launched!: LaunchedTick[];
  @ListField(() => SkippedTick) skipped!: SkippedTick[];
  @ListField(() => FailedTick) failed!: FailedTick[];
}
