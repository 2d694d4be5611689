import type { MicroUsd } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentEntity } from './agent';
import { OrganizationEntity } from './organization';

/** A conversation about one agent. Only the user or API key that started it can read it. */
@Entity('chat_session')
@Check('chat_session_owner_check', "owner_kind IN ('user', 'api_key')")
@Index('chat_session_owner_idx', ['agentId', 'ownerId', 'updatedAt', 'id'])
@Index('chat_session_age_idx', ['organizationId', 'updatedAt'])
export class ChatSessionEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'chat_session_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => AgentEntity, { name: 'chat_session_agent_fk', onDelete: 'CASCADE' })
  agentId!: string;
  @Column('text')
  ownerKind!: 'user' | 'api_key';
  @Column('text')
  ownerId!: string;
  @Column('text')
  title!: string;
  /** Whether the admin who started the session waived the confirmation of tool calls. */
  @Column('boolean', { default: false })
  autoConfirm!: boolean;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' })
  updatedAt!: Date;
}

/** A message and its outcome: the texts of the model in each round, and how the turn ended. */
@Entity('chat_turn')
@Check('chat_turn_status_check', "status IN ('running', 'done', 'failed', 'left', 'interrupted')")
@Index('chat_turn_running_key', ['sessionId'], { unique: true, where: "status = 'running'" })
@Index('chat_turn_session_idx', ['sessionId', 'id'])
@Index('chat_turn_organization_idx', ['organizationId'])
export class ChatTurnEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'chat_turn_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => ChatSessionEntity, { name: 'chat_turn_session_fk', onDelete: 'CASCADE' })
  sessionId!: string;
  @Column('text')
  message!: string;
  /** Texts that the model wrote in this turn, one for each of its responses. */
  @Column('text', { array: true, default: [] })
  // eslint-disable-next-line id-denylist -- the name of the column
  said!: string[];
  @Column('text', { default: 'running' })
  status!: 'running' | 'done' | 'failed' | 'left' | 'interrupted';
  @Column('text', { nullable: true })
  error!: string | null;
  @Column('text', { nullable: true })
  errorCode!: string | null;
  @Column('integer', { default: 0 })
  inputTokens!: number;
  @Column('integer', { default: 0 })
  outputTokens!: number;
  @Column('bigint', { default: 0 })
  costMicros!: MicroUsd;
  /** Time of the last heartbeat of the process that works on the turn. Without heartbeats the turn is interrupted. */
  @Column('timestamptz', { default: () => 'muster_now()' })
  beatAt!: Date;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
  @Column('timestamptz', { nullable: true })
  finishedAt!: Date | null;
}

/** A tool call of the model. A call that waits for the owner's decision is also the confirmation request. */
@Entity('chat_call')
@Check('chat_call_status_check', "status IN ('running', 'done', 'failed', 'needs_confirmation')")
@Index('chat_call_place_key', ['turnId', 'round', 'place'], { unique: true })
@Index('chat_call_session_idx', ['sessionId'])
@Index('chat_call_organization_idx', ['organizationId'])
export class ChatCallEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'chat_call_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => ChatSessionEntity, { name: 'chat_call_session_fk', onDelete: 'CASCADE' })
  sessionId!: string;
  @Column('uuid')
  @ForeignKey(() => ChatTurnEntity, { name: 'chat_call_turn_fk', onDelete: 'CASCADE' })
  turnId!: string;
  /** Number of the model response that contains the call; `place` is the position in the response. */
  @Column('integer')
  round!: number;
  @Column('integer')
  place!: number;
  /** Id that the model assigned to the call. */
  @Column('text')
  modelKey!: string;
  @Column('text')
  tool!: string;
  @Column('jsonb')
  arguments!: Record<string, unknown>;
  @Column('text')
  status!: 'running' | 'done' | 'failed' | 'needs_confirmation';
  @Column('jsonb', { nullable: true })
  result!: Record<string, unknown> | null;
  @Column('text', { nullable: true })
  error!: string | null;
  @Column('text', { nullable: true })
  errorCode!: string | null;
  /** Time until which the call can be confirmed; null if it needs no confirmation. */
  @Column('timestamptz', { nullable: true })
  expiresAt!: Date | null;
  @Column('timestamptz', { nullable: true })
  decidedAt!: Date | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  createdAt!: Date;
}
