import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The last round of a maintenance loop, on any replica. */
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
