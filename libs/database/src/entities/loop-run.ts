import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What the last round of each maintenance loop did, on whichever replica. */
@Entity('loop_run')
export class LoopRunEntity {
  @PrimaryColumn('text')
  name!: string;
  @Column('text')
  app!: string;
  @Column('text')
  host!: string;
  @Column('bigint')
  intervalMs!: number;
  @Column('timestamptz')
  beganAt!: Date;
  @Column('double precision')
  durationMs!: number;
  @Column('jsonb', { default: {} })
  counts!: Record<string, unknown>;
  @Column('integer', { default: 0 })
  failed!: number;
  @Column('text', { nullable: true })
  error!: string | null;
  @Column('jsonb', { default: [] })
  stuck!: Record<string, unknown>[];
}
