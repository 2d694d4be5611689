import type { MicroUsd } from '@muster/contracts';
import { Column, Entity, ForeignKey, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** A run whose cost was booked or deleted, written in the same transaction. `finishedAt` is the end of the run. */
@Entity('run_cost_change')
@Index('run_cost_change_organization_idx', ['organizationId', 'id'])
export class RunCostChangeEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: number;
  @Column('uuid')
  organizationId!: string;
  @Column('timestamptz')
  finishedAt!: Date;
}

/** The time zone of the days in an organization's cost rollups. */
@Entity('run_cost_state')
export class RunCostStateEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'run_cost_state_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text')
  timezone!: string;
}

/** The cost of the runs of one day, in one of the groups in which costs are displayed. */
@Entity('run_cost_day')
export class RunCostDayEntity {
  @PrimaryColumn('uuid')
  organizationId!: string;
  @PrimaryColumn('text')
  groupedBy!: 'day' | 'workflow' | 'agent' | 'schedule' | 'model';
  @PrimaryColumn('date')
  day!: string;
  @PrimaryColumn('text')
  key!: string;
  /** Name of the model as it was reported, if grouped by model; otherwise null. The key is the name in lower case. */
  @Column('text', { nullable: true })
  model!: string | null;
  @Column('integer')
  runs!: number;
  @Column('bigint')
  aiMicros!: MicroUsd;
  @Column('bigint')
  computeMicros!: MicroUsd;
  @Column('bigint')
  reportedMicros!: MicroUsd;
}

/**
 * The cost of the runs of a finished month, in one of the groups in which costs are displayed, except days. The rows
 * grouped by `month` show which months have rollups.
 */
@Entity('run_cost_month')
export class RunCostMonthEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'run_cost_month_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text')
  groupedBy!: 'month' | 'workflow' | 'agent' | 'schedule' | 'model';
  /** First day of the month whose costs the row contains. */
  @PrimaryColumn('date')
  month!: string;
  @PrimaryColumn('text')
  key!: string;
  @Column('text', { nullable: true })
  model!: string | null;
  @Column('integer')
  runs!: number;
  @Column('bigint')
  aiMicros!: MicroUsd;
  @Column('bigint')
  computeMicros!: MicroUsd;
  @Column('bigint')
  reportedMicros!: MicroUsd;
}
