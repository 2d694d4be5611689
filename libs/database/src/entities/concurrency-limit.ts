import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** Maximum number of runs that may hold a key at once, even if the runs request a higher limit; 0 lets none start. */
@Entity('concurrency_limit')
@Check('concurrency_limit_limit_check', '"limit" >= 0')
export class ConcurrencyLimitEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'concurrency_limit_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text')
  key!: string;
  @Column('integer')
  limit!: number;
}
