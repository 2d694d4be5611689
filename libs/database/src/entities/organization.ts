import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** The tenant. Every other row belongs to one. */
@Entity('organization')
export class OrganizationEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') name!: string;
  @Column('boolean', { default: false }) suspended!: boolean;
  @Column('timestamptz', { default: () => 'now()' }) createdAt!: Date;
}

/** One row for each organization, made with it. */
@Entity('organization_settings')
@Check('organization_settings_idle_stop_check', 'idle_stop_minutes >= 0.05')
export class OrganizationSettingsEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'organization_settings_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('integer', { default: 1 }) revision!: number;
  @Column('boolean', { default: true }) vmAutoWakeOnJob!: boolean;
  @Column('boolean', { default: true }) autoStopEnabled!: boolean;
  @Column('double precision', { default: 30 }) idleStopMinutes!: number;
  @Column('integer', { nullable: true }) maxConcurrentRuns!: number | null;
  @Column('integer', { nullable: true }) monthlyRunLimit!: number | null;
  @Column('double precision', { nullable: true }) monthlySpendLimitUsd!: number | null;
  @Column('double precision', { default: 28 }) laborRateUsdPerHour!: number;
  @Column('double precision', { default: 12 }) minutesSavedPerClaim!: number;
  @Column('double precision', { default: () => '0.12' }) hourlyComputeUsd!: number;
  @Column('text', { default: 'UTC' }) timezone!: string;
  @Column('boolean', { default: false }) failStalledRuns!: boolean;
  @Column('timestamptz', { default: () => 'now()' }) updatedAt!: Date;
}
