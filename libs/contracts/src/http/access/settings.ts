import { BooleanField, EnumField, IntField, NumberField, TextField, UsdField } from '../fields';

export const idleStopPolicies = ['fixed', 'adaptive'] as const;
export type IdleStopPolicy = (typeof idleStopPolicies)[number];

export class OrganizationSettings {
  @BooleanField({ example: true, description: 'Wake a stopped agent when a job needs it.' })
  vmAutoWakeOnJob!: boolean;
  @BooleanField({ example: true, description: 'Stop agents that have been idle for idleStopMinutes.' })
  autoStopEnabled!: boolean;
  @NumberField({ example: 30, min: 0.05, max: 10_080 }) idleStopMinutes!: number;
  @EnumField(idleStopPolicies, {
    example: 'fixed',
    description:
      'fixed: an idle agent is stopped after idleStopMinutes. adaptive: as soon as another start costs less than ' +
      'staying on for what is expected of it, by its own history and its schedules; never later than idleStopMinutes.',
  })
  idleStopPolicy!: IdleStopPolicy;
  @BooleanField({
    example: true,
    description: 'Wake a schedule’s machine ahead of its time, by as long as it takes to boot.',
  })
  prewake!: boolean;
  @IntField({ nullable: true, min: 1, max: 100_000, description: 'null: no limit' }) maxConcurrentRuns!: number | null;
  @IntField({ nullable: true, description: 'null: no limit' }) monthlyRunLimit!: number | null;
  @UsdField({ nullable: true, description: 'null: no limit' }) monthlySpendLimitUsd!: number | null;
  @UsdField({ example: 28, max: 10_000 }) laborRateUsdPerHour!: number;
  @NumberField({ example: 12, max: 1_440 }) minutesSavedPerClaim!: number;
  @UsdField({ example: 0.12, max: 10_000 }) hourlyComputeUsd!: number;
  @TextField({ example: 'America/Chicago', max: 64 }) timezone!: string;
  @BooleanField({ example: false, description: 'Fail a run that reports no progress any more, instead of saying so.' })
  failStalledRuns!: boolean;
  @IntField({
    nullable: true,
    min: 1,
    max: 36_500,
    example: 90,
    description: 'Days that are kept of what runs wrote, and of pictures that imaging made; null: for ever.',
  })
  logRetentionDays!: number | null;
  @IntField({
    nullable: true,
    min: 1,
    max: 36_500,
    example: 90,
    description: 'Days that are kept of what else happened on machines; null: for ever.',
  })
  timelineRetentionDays!: number | null;
  @IntField({
    nullable: true,
    min: 1,
    max: 36_500,
    description: 'Days that are kept of the steps of ended runs; null: for ever.',
  })
  stepRetentionDays!: number | null;
  @IntField({
    nullable: true,
    min: 1,
    max: 36_500,
    description: 'Days that are kept of single claims of runs and batches; their sums stay; null: for ever.',
  })
  claimRetentionDays!: number | null;
  @IntField({
    nullable: true,
    min: 1,
    max: 36_500,
    description: 'Days that are kept of usage, by the whole month; null: for ever.',
  })
  usageRetentionDays!: number | null;
  @IntField({
    nullable: true,
    min: 1,
    max: 36_500,
    description: 'Days that are kept of the parts of what ended runs cost; their total stays; null: for ever.',
  })
  costRetentionDays!: number | null;
  @IntField({
    min: 5,
    max: 1440,
    example: 60,
    description: 'A session that nobody used for so many minutes is over. After 12 hours it is over anyway.',
  })
  sessionIdleMinutes!: number;
  @IntField({
    nullable: true,
    min: 1,
    max: 3650,
    description: 'Days after which a new API key expires at the latest; null: it need not expire.',
  })
  apiKeyMaxDays!: number | null;
  @BooleanField({
    example: false,
    description: 'Whoever has no second factor sets one up at the next sign-in, before anything else.',
  })
  requireSecondFactor!: boolean;
}

export class UpdateOrganizationSettingsBody {
  @BooleanField({ optional: true }) vmAutoWakeOnJob?: boolean;
  @BooleanField({ optional: true }) autoStopEnabled?: boolean;
  @NumberField({ optional: true, example: 45, min: 0.05, max: 10_080 }) idleStopMinutes?: number;
  @EnumField(idleStopPolicies, { optional: true, example: 'adaptive' }) idleStopPolicy?: IdleStopPolicy;
  @BooleanField({ optional: true, example: true }) prewake?: boolean;
  @IntField({ optional: true, nullable: true, min: 1, max: 100_000 }) maxConcurrentRuns?: number | null;
  @IntField({ optional: true, nullable: true }) monthlyRunLimit?: number | null;
  @UsdField({ optional: true, nullable: true }) monthlySpendLimitUsd?: number | null;
  @UsdField({ optional: true, max: 10_000 }) laborRateUsdPerHour?: number;
  @NumberField({ optional: true, max: 1_440 }) minutesSavedPerClaim?: number;
  @UsdField({ optional: true, max: 10_000 }) hourlyComputeUsd?: number;
  @TextField({ optional: true, example: 'America/Chicago', max: 64 }) timezone?: string;
  @BooleanField({ optional: true }) failStalledRuns?: boolean;
  @IntField({ optional: true, nullable: true, min: 1, max: 36_500 }) logRetentionDays?: number | null;
  @IntField({ optional: true, nullable: true, min: 1, max: 36_500 }) timelineRetentionDays?: number | null;
  @IntField({ optional: true, nullable: true, min: 1, max: 36_500 }) stepRetentionDays?: number | null;
  @IntField({ optional: true, nullable: true, min: 1, max: 36_500 }) claimRetentionDays?: number | null;
  @IntField({ optional: true, nullable: true, min: 1, max: 36_500 }) usageRetentionDays?: number | null;
  @IntField({ optional: true, nullable: true, min: 1, max: 36_500 }) costRetentionDays?: number | null;
  @IntField({ optional: true, min: 5, max: 1440 }) sessionIdleMinutes?: number;
  @IntField({ optional: true, nullable: true, min: 1, max: 3650 }) apiKeyMaxDays?: number | null;
  @BooleanField({ optional: true }) requireSecondFactor?: boolean;
}

export class SigningSecret {
  @TextField({
    description: 'The text that keys the HMAC of x-service-signature.',
    example: 'mss_vVqf0V8m2J6xkq1s6mZc0b6n1H0m6cXo3vQ2x9aYq0M',
  })
  signingSecret!: string;
}
