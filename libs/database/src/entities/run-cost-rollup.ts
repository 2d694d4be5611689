import type { MicroUsd } from '@muster/contracts';
import { Column, Entity, ForeignKey, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** That a run which ended then was settled, or its cost dropped, in the transaction that did. */
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

/** The zone whose days an organization's sums are of. */
@Entity('run_cost_state')
export class RunCostStateEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'run_cost_state_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text')
  timezone!: string;
}

/** What the runs of a day cost, in one of the groups that costs are shown in. */
@Entity('run_cost_day')
export class RunCostDayEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'run_cost_day_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text')
  groupedBy!: 'day' | 'workflow' | 'agent' | 'schedule' | 'model';
  @PrimaryColumn('date')
  day!: string;
  @PrimaryColumn('text')
  key!: string;
  /** By model: its name as it was reported, of which the key has no capitals. */
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
 * What the runs of a month that is over cost, in one of the groups that costs are shown in but days. Its rows grouped by
 * `month` say which months are summed up.
 */
@Entity('run_cost_month')
export class RunCostMonthEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'run_cost_month_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text')
  groupedBy!: 'month' | 'workflow' | 'agent' | 'schedule' | 'model';
  /** Its first day. */
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
