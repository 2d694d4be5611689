import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentEntity } from './agent';
import { OrganizationEntity } from './organization';

/**
 * One attempt to recover an unhealthy worker. An agent has at most one attempt whose outcome is not known yet
 * (`tried`).
 */
@Entity('agent_recovery')
@Check('agent_recovery_step_check', "step IN ('resync', 'repair', 'restart', 'reboot')")
@Check('agent_recovery_outcome_check', "outcome IN ('tried', 'helped', 'failed')")
@Index('agent_recovery_agent_idx', ['agentId', 'step', 'attemptedAt'])
@Index('agent_recovery_tried_key', ['agentId'], { unique: true, where: "outcome = 'tried'" })
export class AgentRecoveryEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'agent_recovery_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => AgentEntity, { name: 'agent_recovery_agent_fk', onDelete: 'CASCADE' })
  agentId!: string;
  @Column('text')
  step!: 'resync' | 'repair' | 'restart' | 'reboot';
  @Column('text')
  reason!: string;
  @Column('text', { default: 'tried' })
  outcome!: 'tried' | 'helped' | 'failed';
  @Column('timestamptz', { default: () => 'muster_now()' })
  attemptedAt!: Date;
  @Column('timestamptz', { nullable: true })
  finishedAt!: Date | null;
}
