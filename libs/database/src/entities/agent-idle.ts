import type { IdleStopPolicy, MicroUsd } from '@muster/contracts';
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { AgentForeignKey } from './agent';

/** A period in which an agent had no run: from the end of a run until the next one was queued. */
@Entity('agent_idle')
@Check('agent_idle_policy_check', "policy IN ('fixed', 'adaptive')")
@Index('agent_idle_open_key', ['agentId'], { unique: true, where: 'ended_at IS NULL' })
@Index('agent_idle_saved_idx', ['organizationId', 'endedAt'])
@AgentForeignKey('agent_idle_agent_fk')
export class AgentIdleEntity {
  @PrimaryColumn('uuid')
  agentId!: string;
  @PrimaryColumn('timestamptz')
  beganAt!: Date;
  @Column('uuid')
  organizationId!: string;
  @Column('timestamptz', { nullable: true })
  endedAt!: Date | null;
  /** Whether a schedule launched the run that ended the period. */
  @Column('boolean', { default: false })
  scheduled!: boolean;
  /** Time in milliseconds for which the machine was on in this period, up to `onSince`; null if it was not observed. */
  @Column('bigint', { nullable: true })
  onMs!: number | null;
  /** Time since which the machine is on, while the period is open; otherwise null. */
  @Column('timestamptz', { nullable: true })
  onSince!: Date | null;
  /** Whether the machine was off when the period ended. */
  @Column('boolean', { default: false })
  slept!: boolean;
  /** Idle stop policy that was in effect; null if it is not recorded yet. */
  @Column('text', { nullable: true })
  policy!: IdleStopPolicy | null;
  /** Machine time in milliseconds that the adaptive policy saved or would have saved; null if unknown. */
  @Column('bigint', { nullable: true })
  savedMs!: number | null;
  @Column('bigint', { nullable: true })
  savedMicros!: MicroUsd | null;
}
