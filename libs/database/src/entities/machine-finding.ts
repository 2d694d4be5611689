import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A machine that no agent owns (`orphan`), or an agent whose machine no longer exists (`gone`). */
@Entity('machine_finding')
@Check('machine_finding_kind_check', "kind IN ('orphan', 'gone')")
@Index('machine_finding_seen_idx', ['lastSeenAt'])
export class MachineFindingEntity {
  @PrimaryColumn('text')
  kind!: 'orphan' | 'gone';
  @PrimaryColumn('text')
  provider!: string;
  @PrimaryColumn('text')
  place!: string;
  @PrimaryColumn('text')
  ref!: string;
  @Column('uuid', { nullable: true })
  agentId!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  firstSeenAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' })
  lastSeenAt!: Date;
  @Column('timestamptz', { nullable: true })
  actedAt!: Date | null;
  @Column('text')
  reason!: string;
}
