import type { AgentStatus, CommandKind, LifecycleSource, StoredVariables } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentEntity, AgentForeignKey } from './agent';
import { JobForeignKey } from './job';
import { OrganizationEntity } from './organization';

@Entity('agent_wake')
@Check('agent_wake_state_check', "state IN ('open', 'ready', 'timeout', 'failed', 'cancelled')")
@Index('agent_wake_open_key', ['agentId'], { unique: true, where: "state = 'open'" })
@Index('agent_wake_agent_idx', ['agentId', 'requestedAt'])
@Index('agent_wake_due_idx', ['nextTryAt'], { where: "state = 'open'" })
@AgentForeignKey('agent_wake_agent_fk')
export class AgentWakeEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  organizationId!: string;
  @Column('uuid')
  agentId!: string;
  @Column('text', { default: 'open' })
  state!: 'open' | 'ready' | 'timeout' | 'failed' | 'cancelled';
  @Column('text')
  source!: LifecycleSource;
  @Column('text')
  reason!: string;
  @Column('integer', { default: 1 })
  attempt!: number;
  @Column('timestamptz', { default: () => 'muster_now()' })
  nextTryAt!: Date;
  @Column('text', { nullable: true })
  error!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  requestedAt!: Date;
  @Column('timestamptz')
  deadline!: Date;
  @Column('timestamptz', { nullable: true })
  finishedAt!: Date | null;
}

@Entity('agent_control')
@Index('agent_control_due_idx', ['nextTryAt'])
export class AgentControlEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => AgentEntity, { name: 'agent_control_agent_fk', onDelete: 'CASCADE' })
  agentId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'agent_control_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text')
  status!: AgentStatus;
  @Column('timestamptz')
  statusSince!: Date;
  @Column('integer', { default: 0 })
  attempt!: number;
  @Column('timestamptz', { default: () => 'muster_now()' })
  nextTryAt!: Date;
  @Column('timestamptz', { nullable: true })
  issuedAt!: Date | null;
  @Column('text', { nullable: true })
  error!: string | null;
  /** Number of times that the machine's provider refused the order. */
  @Column('integer', { default: 0 })
  refusals!: number;
}

@Entity('agent_function')
@Index('agent_function_name_key', ['organizationId', 'name'], { unique: true })
export class AgentFunctionEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'agent_function_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text')
  name!: string;
  @Column('text', { default: '' })
  description!: string;
  @Column('jsonb', { default: {} })
  parameters!: Record<string, unknown>;
  @Column('text')
  code!: string;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' })
  updatedAt!: Date;
}

@Entity('agent_command')
@Check('agent_command_status_check', "status IN ('pending', 'success', 'failed')")
@Index('agent_command_agent_idx', ['agentId', 'id'])
@Index('agent_command_job_idx', ['jobId'], { where: 'job_id IS NOT NULL' })
@Index('agent_command_open_idx', ['agentId', 'id'], { where: "status = 'pending'" })
@Index('agent_command_push_idx', ['nextPushAt'], { where: 'next_push_at IS NOT NULL' })
@Index('agent_command_overdue_idx', ['deadline'], { where: "status = 'pending' AND kind <> 'run'" })
@AgentForeignKey('agent_command_agent_fk')
@JobForeignKey('agent_command_job_fk')
export class AgentCommandEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  organizationId!: string;
  @Column('uuid')
  agentId!: string;
  @Column('uuid', { nullable: true })
  jobId!: string | null;
  @Column('text')
  kind!: CommandKind;
  @Column('jsonb')
  payload!: Record<string, unknown>;
  @Column('jsonb', { default: {} })
  env!: StoredVariables;
  @Column('text', { array: true, default: [] })
  vaultKeys!: string[];
  /** Environment variables that contain secrets under other names, each with its vault key; null if there are none. */
  @Column('jsonb', { nullable: true })
  secretAliases!: Record<string, string> | null;
  @Column('timestamptz')
  deadline!: Date;
  @Column('timestamptz', { nullable: true, default: () => 'muster_now()' })
  nextPushAt!: Date | null;
  @Column('integer', { default: 0 })
  pushes!: number;
  @Column('text', { nullable: true })
  pushError!: string | null;
  @Column('timestamptz', { nullable: true })
  takenAt!: Date | null;
  @Column('timestamptz', { nullable: true })
  finishedAt!: Date | null;
  @Column('text', { default: 'pending' })
  status!: 'pending' | 'success' | 'failed';
  @Column('text', { nullable: true })
  output!: string | null;
  @Column('text', { nullable: true })
  error!: string | null;
  @Column('text', { nullable: true })
  errorCode!: string | null;
  @Column('integer', { nullable: true })
  exitCode!: number | null;
  @Column('text', { nullable: true })
  requestId!: string | null;
  @Column('text', { nullable: true })
  traceparent!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
}
