import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** The recovery state of a database that was restored from a backup; at most one row. */
@Entity('recovery_hold')
@Check('recovery_hold_one_check', 'id = 1')
export class RecoveryHoldEntity {
  @PrimaryColumn('integer', { default: 1 })
  id!: number;
  @Column('text')
  backup!: string;
  /** Time when the backup was taken. The backup does not contain later changes. */
  @Column('timestamptz')
  savedAt!: Date;
  @Column('timestamptz')
  restoredAt!: Date;
  /**
   * Time when an operator released the service; null while the service must not start or stop anything automatically.
   */
  @Column('timestamptz', { nullable: true })
  releasedAt!: Date | null;
  /** Whether schedules catch up on the times that they missed, according to their misfire policies. */
  @Column('boolean', { default: false })
  fireMissed!: boolean;
}
