import type { LogLevel, TimelineKind } from '@muster/contracts';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { AgentForeignKey } from './agent';

@Entity('timeline_head')
@Index('timeline_head_logs_since_idx', ['organizationId', 'logsSince'])
@Index('timeline_head_others_since_idx', ['organizationId', 'othersSince'])
@AgentForeignKey('timeline_head_agent_fk')
export class TimelineHeadEntity {
  @PrimaryColumn('uuid')
  agentId!: string;
  @Column('uuid')
  organizationId!: string;
  @Column('bigint', { default: 0 })
  lastSeq!: number;
  /**
   * Lower bound of the time of the entries that runs wrote; `othersSince` is that of all other entries. A purge does
   * not search for older entries.
   */
  // eslint-disable-next-line muster/one-clock -- as recordedAt
  @Column('timestamptz', { default: () => 'now()' }) logsSince!: Date;
  // eslint-disable-next-line muster/one-clock -- as recordedAt
  @Column('timestamptz', { default: () => 'now()' }) othersSince!: Date;
}

@Entity('timeline_entry')
@Index('timeline_entry_job_idx', ['jobId', 'seq'])
@Index('timeline_entry_other_time_idx', { synchronize: false })
@Index('timeline_entry_told_idx', ['organizationId', 'transactionId'], { where: 'transaction_id IS NOT NULL' })
export class TimelineEntryEntity {
  @PrimaryColumn('uuid')
  agentId!: string;
  @PrimaryColumn('bigint')
  seq!: number;
  /** Time of the entry. It selects the monthly partition, and orders the entry among the entries of other hosts. */
  // eslint-disable-next-line muster/one-clock -- the database's clock is the same for all hosts
  @PrimaryColumn('timestamptz', { default: () => 'now()' })
  recordedAt!: Date;
  @Column('uuid')
  organizationId!: string;
  @Column('text')
  kind!: TimelineKind;
  @Column('text', { default: 'info' })
  level!: LogLevel;
  @Column('text')
  message!: string;
  @Column('text', { nullable: true })
  source!: string | null;
  @Column('uuid', { nullable: true })
  jobId!: string | null;
  @Column('bigint', { nullable: true })
  logSeq!: number | null;
  /** Transaction that wrote the entry, if the organization's stream contains it; null for the log lines of runs. */
  @Column('bigint', { nullable: true })
  transactionId!: number | null;
  @Column('jsonb', { nullable: true })
  data!: Record<string, unknown> | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  at!: Date;
}
