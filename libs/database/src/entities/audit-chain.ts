import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** Position of the chains of all organizations; one row. */
@Entity('audit_chain')
@Check('audit_chain_one_row_check', 'one_row')
export class AuditChainEntity {
  @PrimaryColumn('boolean', { default: true }) oneRow!: boolean;
  /**
   * First moment of the first open day. All days before are closed: their hashes are stored and their rows final. Null
   * until the first round of the loop.
   */
  @Column('timestamptz', { nullable: true }) closedBefore!: Date | null;
  /** Start of the first day that is not being closed. The service adds no rows to the days before. */
  @Column('timestamptz', { nullable: true }) closingBefore!: Date | null;
  /**
   * Transaction id that every transaction exceeds which started after `closingBefore` was set. The days are closed when
   * all older transactions have ended. Null until it is known.
   */
  @Column('text', { nullable: true }) fence!: string | null;
  /** Newest rows that are part of the chain of their open day. */
  @Column('uuid') auditLinkedTo!: string;
  @Column('uuid') accessLinkedTo!: string;
  /** Rows of earlier days were cut by the retention; their hashes are kept. Null if none were cut. */
  @Column('timestamptz', { nullable: true }) auditKeptFrom!: Date | null;
  @Column('timestamptz', { nullable: true }) accessKeptFrom!: Date | null;
  /** Time from which every row has a digest. Older rows may be from a release that wrote none. */
  @Column('timestamptz') digestsFrom!: Date;
}

/** The hash of a closed day of one log of an organization. A closed day without rows has none: its hash is computed. */
@Entity('audit_day')
@Check('audit_day_log_check', "log IN ('audit', 'access')")
export class AuditDayEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'audit_day_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text') log!: 'audit' | 'access';
  @PrimaryColumn('date') day!: string;
  @Column('integer') rowCount!: number;
  /** Version of the JSON form of the rows that was hashed. */
  @Column('integer') form!: number;
  @Column('text') previous!: string;
  @Column('text') hash!: string;
  /** Rows that were found to be changed or missing when the day was closed, as sentences. */
  @Column('text', { array: true, default: [] }) faults!: string[];
}

/** A link of the chain over the rows of an open day; deleted when the day is closed. */
@Entity('audit_link')
@Check('audit_link_log_check', "log IN ('audit', 'access')")
@Index('audit_link_last_idx', ['log', 'lastId'])
export class AuditLinkEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'audit_link_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text') log!: 'audit' | 'access';
  @PrimaryColumn('date') day!: string;
  /** Place of the link in the chain of the day, from 1. */
  @PrimaryColumn('integer') seq!: number;
  /** Rows of the link in the order of their ids, and their digests. */
  @Column('uuid', { array: true }) ids!: string[];
  @Column('bytea') digests!: Buffer;
  @Column('uuid') lastId!: string;
  /** Hash of the link before and of the digests. */
  @Column('bytea') hash!: Buffer;
}
