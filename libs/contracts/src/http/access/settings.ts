import { BooleanField, EnumField, IntField, NumberField, TextField, UsdField } from '../fields';

export const idleStopPolicies = ['fixed', 'adaptive'] as const;
export type IdleStopPolicy = (typeof idleStopPolicies)[number];

export class OrganizationSettings {
  @BooleanField({ example: true, description: 'Whether a stopped agent is started when a job needs it.' })
  vmAutoWakeOnJob!: boolean;
  @BooleanField({
    example: true,
    description: 'Whether idle agents are stopped, according to idleStopPolicy and idleStopMinutes.',
  })
  autoStopEnabled!: boolean;
  @NumberField({ example: 30, min: 0.05, max: 10_080 }) idleStopMinutes!: number;
  @EnumField(idleStopPolicies, {
    example: 'fixed',
    description:
      'fixed: an idle agent is stopped after idleStopMinutes. adaptive: an idle agent is stopped as soon as a later ' +
      'start costs less than staying on until its next expected run. The expectation is based on its history and its ' +
      'schedules. The agent is never stopped later than with fixed.',
  })
  idleStopPolicy!: IdleStopPolicy;
  @BooleanField({
    example: true,
    description: 'Whether a schedule’s machine is started early enough to have booted at the scheduled time.',
  })
  prewake!: boolean;
  @IntField({
    nullable: true,
    min: 1,
    max: 100_000,
    description: 'Maximum number of runs at the same time. Null: no limit.',
  })
  maxConcurrentRuns!: number | null;
  @IntField({ nullable: true, description: 'Maximum number of runs per month. Null: no limit.' }) monthlyRunLimit!:
    number | null;
  @UsdField({ nullable: true, description: 'Maximum spend per month in US dollars. Null: no limit.' })
  monthlySpendLimitUsd!: number | null;
  @UsdField({ example: 28, max: 10_000 }) laborRateUsdPerHour!: number;
  @NumberField({ example: 12, max: 1_440 }) minutesSavedPerClaim!: number;
  @UsdField({ example: 0.12, max: 10_000 }) hourlyComputeUsd!: number;
  @TextField({ example: 'America/Chicago', max: 64 }) timezone!: string;
  @BooleanField({
    example: false,
    description:
      'Whether a run without progress fails with errorCode execution_timeout. If false, it is only reported.',
  })
  failStalledRuns!: boolean;
  @IntField({
    nullable: true,
    min: 1,
    max: 36_500,
    example: 90,
    description:
      'Retention in days of run logs, autopilot sessions, chats, uploaded videos and imaging images. Null: forever.',
  })
  logRetentionDays!: number | null;
  @IntField({
    nullable: true,
    min: 1,
    max: 36_500,
    example: 90,
    description: 'Retention in days of all other timeline entries. Null: forever.',
  })
  timelineRetentionDays!: number | null;
  @IntField({
    nullable: true,
    min: 1,
    max: 36_500,
    description: 'Retention in days of the steps of ended runs. Null: forever.',
  })
  stepRetentionDays!: number | null;
  @IntField({
    nullable: true,
    min: 1,
    max: 36_500,
    description:
      'Retention in days of the individual claims of runs and batches. Totals are not deleted. Null: forever.',
  })
  claimRetentionDays!: number | null;
  @IntField({
    nullable: true,
    min: 1,
    max: 36_500,
    description: 'Retention in days of usage; only whole months are deleted. Null: forever.',
  })
  usageRetentionDays!: number | null;
  @IntField({
    nullable: true,
    min: 1,
    max: 36_500,
    description: 'Retention in days of the cost components of ended runs. Total costs are not deleted. Null: forever.',
  })
  costRetentionDays!: number | null;
  @IntField({
    min: 5,
    max: 1440,
    example: 60,
    description: 'Number of minutes without use after which a session ends. Every session ends after 12 hours.',
  })
  sessionIdleMinutes!: number;
  @IntField({
    nullable: true,
    min: 1,
    max: 3650,
    description: 'Maximum lifetime of a new API key in days. Null: no limit.',
  })
  apiKeyMaxDays!: number | null;
  @BooleanField({
    example: false,
    description: 'Whether every user needs a second factor. A user without one must set it up at the next sign-in.',
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
    description: 'HMAC key of the header x-service-signature. Use the text itself as the key, without decoding it.',
    example: 'mss_vVqf0V8m2J6xkq1s6mZc0b6n1H0m6cXo3vQ2x9aYq0M',
  })
  signingSecret!: string;
}
