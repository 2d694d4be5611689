import type { MicroUsd } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** Prices per million tokens. Names are compared by their keys, which are in lower case. */
abstract class PriceColumns {
  @PrimaryColumn('text') providerKey!: string;
  @PrimaryColumn('text') modelKey!: string;
  /** First day in UTC on which the price applies, until the day of a later price. */
  @PrimaryColumn('date') fromDay!: string;
  @Column('text') provider!: string;
  @Column('text') model!: string;
  @Column('bigint') inputMicros!: MicroUsd;
  @Column('bigint') outputMicros!: MicroUsd;
}

/** A price of an organization. It takes precedence over the default price. */
@Entity('model_price')
export class ModelPriceEntity extends PriceColumns {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'model_price_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
}

/** A default price, if the shipped list was replaced. */
@Entity('default_model_price')
export class DefaultModelPriceEntity extends PriceColumns {}

/** Contains one row if the shipped price list was replaced. */
@Entity('default_price_list')
@Check('default_price_list_id_check', 'id')
export class DefaultPriceListEntity {
  @PrimaryColumn('boolean', { default: true }) id!: boolean;
  @Column('timestamptz', { default: () => 'muster_now()' }) replacedAt!: Date;
}

/** A request to recompute the costs of finished runs: its range of days and its progress. */
@Entity('cost_recompute')
@Index('cost_recompute_organization_idx', ['organizationId', 'id'])
export class CostRecomputeEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'cost_recompute_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('date') fromDay!: string;
  @Column('date') toDay!: string;
  @Column('uuid', { nullable: true }) lastJobId!: string | null;
  @Column('integer', { default: 0 }) runs!: number;
  @Column('integer', { default: 0 }) changed!: number;
  @Column('timestamptz', { default: () => 'muster_now()' }) requestedAt!: Date;
  @Column('timestamptz', { nullable: true }) finishedAt!: Date | null;
}
