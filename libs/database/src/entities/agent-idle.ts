import type { IdleStopPolicy, MicroUsd } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentEntity } from './agent';
import { OrganizationEntity } from './organization';

/** A time in which an agent had no run: from the end of one until the next was queued. */
@Entity('agent_idle')
@Check('agent_idle_policy_check', "policy IN ('fixed', 'adaptive')")
@Index('agent_idle_open_key', ['agentId'], { unique: true, where: 'ended_at IS NULL' })
@Index('agent_idle_saved_idx', ['organizationId', 'endedAt'])
export class AgentIdleEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => AgentEntity, { name: 'agent_idle_agent_fk', onDelete: 'CASCADE' })
  agentId!: string;
  @PrimaryColumn('timestamptz')
  beganAt!: Date;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'agent_idle_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('timestamptz', { nullable: true })
  endedAt!: Date | null;
  /** A schedule launched the run that ended it. */
  @Column('boolean', { default: false })
  scheduled!: boolean;
  /** For how long its machine was on in it, up to onSince; null where that was not seen. */
  @Column('bigint', { nullable: true })
  onMs!: number | null;
  /** While it is open: since when its machine is on. */
  @Column('timestamptz', { nullable: true })
  onSince!: Date | null;
  /** Its machine was off when it ended. */
  @Column('boolean', { default: false })
  slept!: boolean;
  /** The policy that held. */
  @Column('text', { nullable: true })
  policy!: IdleStopPolicy | null;
  /** What adaptive would have saved in it, or did; null where nothing can be said of it. */
  @Column('bigint', { nullable: true })
  savedMs!: number | null;
  @Column('bigint', { nullable: true })
  savedMicros!: MicroUsd | null;
}
