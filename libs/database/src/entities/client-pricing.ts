import type { MicroUsd } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/**
 * The pricing model of an organization. A model has one price, which is for a block, a claim or a run, depending on its
 * type.
 */
@Entity('client_pricing_model')
@Check('client_pricing_model_type_check', "pricing_type IN ('npi_claim_block', 'per_claim', 'flat_per_run')")
@Check('client_pricing_model_block_check', "(block_size IS NOT NULL) = (pricing_type = 'npi_claim_block')")
export class ClientPricingModelEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'client_pricing_model_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text')
  pricingType!: string;
  @Column('integer', { nullable: true })
  blockSize!: number | null;
  @Column('bigint')
  priceMicros!: number;
  @Column('bigint', { default: 0 })
  minimumMicros!: number;
  @Column('timestamptz', { default: () => 'muster_now()' })
  updatedAt!: Date;
}

/** The charge of a run with the pricing model of that time. It outlives the run, so its job id has no foreign key. */
@Entity('billing_metric')
@Check('billing_metric_source_check', "source IN ('claim_result', 'select_org_provider')")
@Index('billing_metric_job_key', ['jobId'], { unique: true })
@Index('billing_metric_organization_idx', ['organizationId', 'id'])
export class BillingMetricEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'billing_metric_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  jobId!: string;
  @Column('text')
  source!: string;
  @Column('integer')
  npiCount!: number;
  @Column('integer')
  totalClaims!: number;
  @Column('integer')
  totalStepsBeforeDedup!: number;
  @Column('integer')
  duplicatesRemoved!: number;
  @Column('jsonb')
  claimsPerNpi!: Record<string, number>;
  @Column('bigint')
  chargeMicros!: MicroUsd;
  @Column('text')
  pricingType!: string;
  @Column('integer', { nullable: true })
  blockSize!: number | null;
  @Column('bigint')
  priceMicros!: number;
  @Column('bigint')
  minimumMicros!: number;
  @Column('timestamptz', { default: () => 'muster_now()' })
  computedAt!: Date;
}

/** A step of a run from which a billing metric was computed, with its content at that time and its verdict. */
@Entity('billing_metric_step')
@Check('billing_metric_step_verdict_check', "verdict IN ('counted', 'repeated', 'left_out')")
export class BillingMetricStepEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => BillingMetricEntity, {
    name: 'billing_metric_step_metric_fk',
    onDelete: 'CASCADE',
    deferrable: 'INITIALLY DEFERRED',
  })
  metricId!: string;
  @PrimaryColumn('integer')
  stepOrder!: number;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'billing_metric_step_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text', { nullable: true })
  npi!: string | null;
  @Column('text', { nullable: true })
  claimId!: string | null;
  @Column('text', { nullable: true })
  claimSubmissionId!: string | null;
  @Column('text')
  verdict!: string;
}
