import type { MicroUsd } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { OrganizationEntity } from './organization';

/** The language model that an organization provides itself. Its API key is in the vault. */
@Entity('organization_model')
export class OrganizationModelEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'organization_model_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text')
  baseUrl!: string;
  @Column('text')
  name!: string;
  @Column('text', { nullable: true })
  visionName!: string | null;
  @Column('text')
  apiKeyVaultKey!: string;
}

/** One request to a language model. The row is written before the request, so that a crash does not hide it. */
@Entity('model_call')
@Check('model_call_outcome_check', "outcome IN ('open', 'answered', 'cut', 'failed', 'lost')")
@Index('model_call_organization_idx', ['organizationId', 'at'])
@Index('model_call_open_idx', ['id'], { where: "outcome = 'open'" })
export class ModelCallEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'model_call_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text')
  purpose!: string;
  @Column('text')
  provider!: string;
  @Column('text')
  model!: string;
  @Column('bigint', { default: 0 })
  inputTokens!: number;
  @Column('bigint', { default: 0 })
  outputTokens!: number;
  @Column('bigint', { default: 0 })
  costMicros!: MicroUsd;
  /** Whether the tokens are estimated from the text, because the model did not report them. */
  @Column('boolean', { default: false })
  estimated!: boolean;
  /** `open` while the request is in progress; `lost` if the process died before it recorded the outcome. */
  @Column('text', { default: 'open' })
  outcome!: 'open' | 'answered' | 'cut' | 'failed' | 'lost';
  @Column('integer', { nullable: true })
  durationMs!: number | null;
  @Column('uuid', { nullable: true })
  agentId!: string | null;
  @Column('uuid', { nullable: true })
  jobId!: string | null;
  @Column('uuid', { nullable: true })
  sessionId!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  at!: Date;
}
