import type { AgentProvider, AgentStatus, LifecycleSource, MachineCapability, MicroUsd } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/**
 * The record of a worker machine. No index contains a column that heartbeats and runs change (such as lastSeen,
 * lastActivityAt and currentJobId), so that Postgres updates the row in place.
 */
/** The rows of a class with this key refer only to agents of their own organization. */
export const AgentForeignKey = (name: string) =>
  ForeignKey(() => AgentEntity, ['organizationId', 'agentId'], ['organizationId', 'id'], { name, onDelete: 'CASCADE' });

@Entity('agent')
@Check(
  'agent_status_check',
  "status IN ('online', 'offline', 'stopped', 'starting', 'stopping', 'rebooting', 'draining', 'terminated')",
)
@Index('agent_organization_key', ['organizationId', 'id'], { unique: true })
@Index('agent_name_key', ['organizationId', 'name'], { unique: true, where: "status <> 'terminated'" })
@Index('agent_on_idx', ['id'], { where: "status IN ('online', 'draining')" })
@Index('agent_stoppable_idx', ['organizationId', 'id'], {
  where: "status IN ('online', 'offline') AND provider <> 'external' AND NOT idle_auto_stop_exempt AND drain IS NULL",
})
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
  /** Price of the machine per hour; null if the organization's setting applies. */
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
  /** Address from which the machine last called the service; null before the first call. */
  @Column('text', { nullable: true })
  seenFrom!: string | null;
  /** Base URL at which the last handshake reached the service; null if unknown. */
  @Column('text', { nullable: true })
  serviceUrl!: string | null;
  /** URL of the tunnel through which a push failed since the last handshake; null if none failed. */
  @Column('text', { nullable: true })
  unreachableTunnel!: string | null;
  @Column('text', { nullable: true })
  vmState!: string | null;
  @Column('text', { nullable: true })
  vmIp!: string | null;
  @Column('boolean', { default: false })
  idleAutoStopExempt!: boolean;
  /** Whether the agent takes jobs that require labels; jobs that name the agent are not concerned. */
  @Column('boolean', { default: true })
  placement!: boolean;
  @Column('text', { nullable: true })
  workerVersion!: string | null;
  /** Capabilities that the worker reported in its last handshake; null if it reported none. */
  @Column('jsonb', { nullable: true })
  capabilities!: MachineCapability[] | null;
  @Column('text', { nullable: true })
  bootId!: string | null;
  /**
   * Ids of the earlier boots, and of the last one once its machine was stopped. Reports of these boots are not
   * accepted.
   */
  @Column('text', { array: true, default: [] })
  endedBoots!: string[];
  @Column('text', { nullable: true })
  previousStatus!: AgentStatus | null;
  @Column('integer', { default: 0 })
  unhealthyChecks!: number;
  /** Number of unhealthy heartbeats since the last recovery attempt. */
  @Column('integer', { default: 0 })
  recoveryChecks!: number;
  /** Last recovery step since the worker was healthy; null if none was tried. */
  @Column('text', { nullable: true })
  recoveryStep!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  statusSince!: Date;
  @Column('text', { default: 'api' })
  statusSource!: LifecycleSource;
  @Column('text', { default: '' })
  statusReason!: string;
  /** Drain mode, regardless of the machine's state; null if the agent is not being drained. */
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
  /** Time in milliseconds within which nine of ten recent wakes led to a first report; null before the first. */
  @Column('integer', { nullable: true })
  bootMs!: number | null;
  /** Time of the last failed idle stop; null if none failed. */
  @Column('timestamptz', { nullable: true })
  idleStopFailedAt!: Date | null;
  @Column('uuid', { nullable: true })
  clearingCommandId!: string | null;
  @Column('timestamptz', { nullable: true })
  dispatchSweptAt!: Date | null;
  /**
   * Autopilot session whose browser is open on the agent; null if there is none. No job is assigned until it is closed.
   */
  @Column('uuid', { nullable: true })
  autopilotSessionId!: string | null;
}
