import type { AccountFailure } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { OrganizationEntity } from './organization';

/**
 * An account at a portal that runs borrow from its pool. Its secrets are in the vault; the row has only their names.
 */
@Entity('account')
@Unique('account_id_key', ['id'])
@Check('account_limit_check', '"limit" > 0')
@Index('account_pool_idx', ['organizationId', 'pool'])
export class AccountEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'account_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text')
  name!: string;
  @Column('uuid')
  id!: string;
  @Column('text')
  pool!: string;
  /** Names of vault secrets, each under the name by which scripts read the secret. */
  @Column('jsonb')
  vaultKeys!: Record<string, string>;
  /** Maximum number of runs that can use the account at the same time. */
  @Column('integer')
  limit!: number;
  @Column('integer')
  cooldownSeconds!: number;
  @Column('boolean')
  enabled!: boolean;
  /** Reason that a run reported for not being able to use the account; null if no run reported one. */
  @Column('text', { nullable: true })
  setAsideReason!: AccountFailure | null;
  @Column('text', { nullable: true })
  setAsideMessage!: string | null;
  @Column('timestamptz', { nullable: true })
  setAsideSince!: Date | null;
  @Column('uuid', { nullable: true })
  setAsideJobId!: string | null;
}

/**
 * An account that a run waits for, has or had. The row of a run that waits is deleted if the run never starts. Other
 * rows are retained as evidence of which run had which account, so they outlive the job and the account.
 */
@Entity('account_use')
@Index('account_use_open_idx', ['organizationId', 'pool', 'since'], { where: 'until IS NULL' })
@Index('account_use_account_idx', ['organizationId', 'account', 'until'])
@Index('account_use_since_idx', ['organizationId', 'account', 'since', 'jobId'])
@Index('account_use_waiting_idx', ['agentId'], { where: 'since IS NULL' })
@Index('account_use_held_idx', ['agentId'], { where: 'since IS NOT NULL AND until IS NULL' })
export class AccountUseEntity {
  @PrimaryColumn('uuid')
  jobId!: string;
  @PrimaryColumn('text')
  pool!: string;
  @Column('uuid')
  organizationId!: string;
  /** Agent of the job; null until the dispatcher has chosen one. */
  @Column('uuid', { nullable: true })
  agentId!: string | null;
  @Column('integer')
  priority!: number;
  @Column('timestamptz')
  queuedAt!: Date;
  /** Name of the account; null while the run waits. */
  @Column('text', { nullable: true })
  account!: string | null;
  /** Time since which the run has the account; null while it waits. */
  @Column('timestamptz', { nullable: true })
  since!: Date | null;
  /** Time at which the run gave the account back; null before that. */
  @Column('timestamptz', { nullable: true })
  until!: Date | null;
  /** Time at which the run reported that the account cannot be used. */
  @Column('timestamptz', { nullable: true })
  failedAt!: Date | null;
}
