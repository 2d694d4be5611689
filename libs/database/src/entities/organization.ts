import type { IdleStopPolicy, MicroUsd } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** The tenant to which nearly all other rows belong. */
@Entity('organization')
export class OrganizationEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') name!: string;
  @Column('boolean', { default: false }) suspended!: boolean;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
}

/** The settings of an organization. The row is created together with the organization. */
@Entity('organization_settings')
@Check('organization_settings_idle_stop_check', 'idle_stop_minutes >= 0.05')
@Check('organization_settings_session_idle_check', 'session_idle_minutes BETWEEN 5 AND 1440')
@Check('organization_settings_idle_policy_check', "idle_stop_policy IN ('fixed', 'adaptive')")
export class OrganizationSettingsEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'organization_settings_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('integer', { default: 1 }) revision!: number;
  @Column('boolean', { default: true }) vmAutoWakeOnJob!: boolean;
  @Column('boolean', { default: true }) autoStopEnabled!: boolean;
  @Column('double precision', { default: 30 }) idleStopMinutes!: number;
  @Column('text', { default: 'fixed' }) idleStopPolicy!: IdleStopPolicy;
  @Column('boolean', { default: true }) prewake!: boolean;
  @Column('integer', { nullable: true }) maxConcurrentRuns!: number | null;
  @Column('integer', { nullable: true }) monthlyRunLimit!: number | null;
  @Column('bigint', { nullable: true }) monthlySpendLimitMicros!: MicroUsd | null;
  @Column('bigint', { default: 28_000_000 }) laborMicrosPerHour!: MicroUsd;
  @Column('double precision', { default: 12 }) minutesSavedPerClaim!: number;
  @Column('bigint', { default: 120_000 }) computeMicrosPerHour!: MicroUsd;
  @Column('text', { default: 'UTC' }) timezone!: string;
  @Column('boolean', { default: false }) failStalledRuns!: boolean;
  @Column('integer', { nullable: true, default: 90 }) logRetentionDays!: number | null;
  @Column('integer', { nullable: true, default: 90 }) timelineRetentionDays!: number | null;
  @Column('integer', { nullable: true }) stepRetentionDays!: number | null;
  @Column('integer', { nullable: true }) claimRetentionDays!: number | null;
  @Column('integer', { nullable: true }) usageRetentionDays!: number | null;
  @Column('integer', { nullable: true }) costRetentionDays!: number | null;
  @Column('integer', { default: 60 }) sessionIdleMinutes!: number;
  @Column('integer', { nullable: true }) apiKeyMaxDays!: number | null;
  @Column('boolean', { default: false }) requireSecondFactor!: boolean;
  @Column('timestamptz', { default: () => 'muster_now()' }) updatedAt!: Date;
}
