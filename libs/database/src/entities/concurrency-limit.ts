import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** How many runs an organization lets hold a key at once, whatever they ask for; 0 lets none begin. */
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
