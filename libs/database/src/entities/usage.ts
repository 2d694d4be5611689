import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { JobEntity } from './job';
import { OrganizationEntity } from './organization';

@Entity('run_cost')
export class RunCostEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => JobEntity, { name: 'run_cost_job_fk', onDelete: 'CASCADE' })
  jobId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'run_cost_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('double precision')
  runSeconds!: number;
  @Column('double precision')
  hourlyComputeUsd!: number;
  @Column('double precision')
  computeUsd!: number;
  @Column('double precision')
  aiUsd!: number;
  @Column('double precision', { nullable: true })
  reportedUsd!: number | null;
  @Column('double precision')
  totalUsd!: number;
  @Column('timestamptz', { default: () => 'now()' })
  computedAt!: Date;
}

@Entity('usage_event')
@Check('usage_event_kind_check', "kind IN ('run', 'spend')")
@Index('usage_event_month_idx', ['organizationId', 'month'])
export class UsageEventEntity {
  @PrimaryColumn('uuid')
  jobId!: string;
  @PrimaryColumn('text')
  kind!: string;
  @PrimaryColumn('integer', { default: 1 })
  revision!: number;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'usage_event_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('date')
  month!: string;
  @Column('text', { nullable: true })
  outcome!: string | null;
  @Column('double precision', { default: 0 })
  runSeconds!: number;
  @Column('double precision', { default: 0 })
  spendUsd!: number;
  @Column('timestamptz', { default: () => 'now()' })
  at!: Date;
}

@Entity('usage_counter')
export class UsageCounterEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'usage_counter_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('date')
  month!: string;
  @Column('bigint', { default: 0 })
  runs!: number;
  @Column('bigint', { default: 0 })
  completed!: number;
  @Column('bigint', { default: 0 })
  failed!: number;
  @Column('bigint', { default: 0 })
  cancelled!: number;
  @Column('double precision', { default: 0 })
  runSeconds!: number;
  @Column('double precision', { default: 0 })
  spendUsd!: number;
}
