import type { MicroUsd } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** Names are compared by their keys, which are in small letters; money is for a million tokens. */
abstract class PriceColumns {
  @PrimaryColumn('text') providerKey!: string;
  @PrimaryColumn('text') modelKey!: string;
  /** It holds from this day's beginning in UTC, until a later one does. */
  @PrimaryColumn('date') fromDay!: string;
  @Column('text') provider!: string;
  @Column('text') model!: string;
  @Column('bigint') inputMicros!: MicroUsd;
  @Column('bigint') outputMicros!: MicroUsd;
}

/** An organization's own prices: they go before the default ones. */
@Entity('model_price')
export class ModelPriceEntity extends PriceColumns {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'model_price_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
}

/** The default prices, once somebody has put a list in the place of the one that is shipped. */
@Entity('default_model_price')
export class DefaultModelPriceEntity extends PriceColumns {}

/** Its one row says that the shipped list holds no more. */
@Entity('default_price_list')
@Check('default_price_list_id_check', 'id')
export class DefaultPriceListEntity {
  @PrimaryColumn('boolean', { default: true }) id!: boolean;
  @Column('timestamptz', { default: () => 'muster_now()' }) replacedAt!: Date;
}

/** Ended runs that are to be priced anew: which, and how far that is. */
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
