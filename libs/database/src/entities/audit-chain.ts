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
   * Id of the next transaction, read after `closingBefore` was set. The days are closed when all transactions with
   * smaller ids have ended. Null until it is read.
   */
  @Column('text', { nullable: true }) fence!: string | null;
  /**
   * Id of the newest row of the audit trail that is part of the chain of its open day; `accessLinkedTo` is that of the
   * access log.
   */
  @Column('uuid') auditLinkedTo!: string;
  @Column('uuid') accessLinkedTo!: string;
  /**
   * Start of the first day that the retention has not cut. The rows of earlier days are deleted, and their hashes kept.
   * Null if no day was cut.
   */
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
  /** Version of the JSON form in which the day's rows were hashed. */
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
  /** Position of the link in the chain of the day, from 1. */
  @PrimaryColumn('integer') seq!: number;
  /** Ids of the link's rows in ascending order; `digests` contains the digests of these rows. */
  @Column('uuid', { array: true }) ids!: string[];
  @Column('bytea') digests!: Buffer;
  @Column('uuid') lastId!: string;
  /** Hash over the previous link's hash, and the ids and digests of this link. */
  @Column('bytea') hash!: Buffer;
}
