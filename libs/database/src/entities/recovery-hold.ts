import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** The one row of a database that was restored from a backup. */
@Entity('recovery_hold')
@Check('recovery_hold_one_check', 'id = 1')
export class RecoveryHoldEntity {
  @PrimaryColumn('integer', { default: 1 })
  id!: number;
  @Column('text')
  backup!: string;
  /** When the backup was taken: what happened afterwards is not in it. */
  @Column('timestamptz')
  savedAt!: Date;
  @Column('timestamptz')
  restoredAt!: Date;
  /** Null while nothing may act by itself. */
  @Column('timestamptz', { nullable: true })
  releasedAt!: Date | null;
  /** Whether schedules make up for what they missed in between, as their misfire policies say. */
  @Column('boolean', { default: false })
  fireMissed!: boolean;
}
