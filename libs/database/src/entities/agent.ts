import type { AgentProvider, AgentStatus, LifecycleSource, MachineCapability, MicroUsd } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** A worker machine. */
@Entity('agent')
@Check(
  'agent_status_check',
  "status IN ('online', 'offline', 'stopped', 'starting', 'stopping', 'rebooting', 'draining', 'terminated')",
)
@Index('agent_organization_idx', ['organizationId', 'id'])
@Index('agent_name_key', ['organizationId', 'name'], { unique: true, where: "status <> 'terminated'" })
@Index('agent_watch_idx', ['lastSeen'], { where: "status IN ('online', 'draining')" })
@Index('agent_idle_idx', { synchronize: false })
@Index('agent_held_idx', ['dispatchedAt'], { where: 'current_job_id IS NOT NULL' })
@Index('agent_transit_idx', ['statusSince'], { where: "status IN ('starting', 'stopping', 'rebooting')" })
export class AgentEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'agent_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') name!: string;
  @Column('text', { default: 'offline' }) status!: AgentStatus;
  @Column('text', { default: 'external' }) provider!: AgentProvider;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('jsonb', { default: {} })
  providerConfig!: Record<string, unknown>;
  /** What its machine costs for an hour; where null, what the organization's settings say. */
  @Column('bigint', { nullable: true })
  computeMicrosPerHour!: MicroUsd | null;
  @Column('text', { nullable: true })
  providerRef!: string | null;
  @Column('text', { array: true, default: [] })
  labels!: string[];
  @Column('timestamptz', { nullable: true })
  lastSeen!: Date | null;
  @Column('timestamptz', { nullable: true })
  lastActivityAt!: Date | null;
  @Column('text', { nullable: true })
  publicTunnelUrl!: string | null;
  @Column('text', { nullable: true })
  tunnelUrl!: string | null;
  @Column('text', { nullable: true })
  tunnelHostname!: string | null;
  /** The address that its machine last called from. */
  @Column('text', { nullable: true })
  seenFrom!: string | null;
  /** Where it reaches us, as its handshake did. */
  @Column('text', { nullable: true })
  serviceUrl!: string | null;
  /** The tunnel that a push did not get through since the last handshake. */
  @Column('text', { nullable: true })
  unreachableTunnel!: string | null;
  @Column('text', { nullable: true })
  vmState!: string | null;
  @Column('text', { nullable: true })
  vmIp!: string | null;
  @Column('boolean', { default: false })
  idleAutoStopExempt!: boolean;
  @Column('text', { nullable: true })
  workerVersion!: string | null;
  /** What its machine has, as its worker said in its last handshake; null where it did not say. */
  @Column('jsonb', { nullable: true })
  capabilities!: MachineCapability[] | null;
  @Column('text', { nullable: true })
  bootId!: string | null;
  /** Those before it, and itself once its machine was stopped: none of them is heard any more. */
  @Column('text', { array: true, default: [] })
  endedBoots!: string[];
  @Column('text', { nullable: true })
  previousStatus!: AgentStatus | null;
  @Column('integer', { default: 0 })
  unhealthyChecks!: number;
  /** Unhealthy heartbeats since the last attempt to make it well. */
  @Column('integer', { default: 0 })
  recoveryChecks!: number;
  /** What was tried last since it was healthy. */
  @Column('text', { nullable: true })
  recoveryStep!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  statusSince!: Date;
  @Column('text', { default: 'api' })
  statusSource!: LifecycleSource;
  @Column('text', { default: '' })
  statusReason!: string;
  /** How it is being drained, whatever its machine does meanwhile; null where it is not. */
  @Column('text', { nullable: true })
  drain!: 'finish' | 'now' | null;
  @Column('uuid', { nullable: true })
  currentJobId!: string | null;
  @Column('timestamptz', { nullable: true })
  dispatchedAt!: Date | null;
  @Column('timestamptz', { nullable: true })
  onSince!: Date | null;
  @Column('text', { nullable: true })
  lastActivity!: string | null;
  /** Within which time nine of ten of its last wakes had it report; null where none did yet. */
  @Column('integer', { nullable: true })
  bootMs!: number | null;
  /** When an idle stop of it came to nothing, if one did. */
  @Column('timestamptz', { nullable: true })
  idleStopFailedAt!: Date | null;
  @Column('uuid', { nullable: true })
  clearingCommandId!: string | null;
  @Column('timestamptz', { nullable: true })
  dispatchSweptAt!: Date | null;
  /** The autopilot's session whose browser it has; until that is closed no job is given to it. */
  @Column('uuid', { nullable: true })
  autopilotSessionId!: string | null;
}
