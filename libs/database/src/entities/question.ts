import type { AnswerWay, QuestionAnswerer, QuestionKind, QuestionStatus } from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentEntity } from './agent';
import { AutopilotSessionEntity } from './autopilot';
import { InboundCodeEntity } from './inbound-code';
import { JobEntity } from './job';
import { OrganizationEntity } from './organization';

/** A question to a person. A run or an autopilot session waits for the answer. */
@Entity('question')
@Check('question_kind_check', "kind IN ('code', 'text', 'choice', 'confirm', 'form')")
@Check('question_status_check', "status IN ('open', 'answered', 'expired', 'cancelled')")
@Check('question_asker_check', '(job_id IS NULL) <> (session_id IS NULL)')
@Index('question_key_key', ['jobId', 'questionKey'], { unique: true })
@Index('question_session_idx', ['sessionId'], { where: 'session_id IS NOT NULL' })
@Index('question_organization_idx', ['organizationId', 'id'])
@Index('question_open_idx', ['organizationId', 'id'], { where: "status = 'open'" })
@Index('question_due_idx', ['expiresAt'], { where: "status = 'open'" })
@Index('question_agent_idx', ['agentId'])
@Index('question_inbound_idx', ['inboundId', 'id'], { where: "status = 'open' AND inbound_id IS NOT NULL" })
export class QuestionEntity {
  @PrimaryColumn('uuid')
  id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'question_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid', { nullable: true })
  @ForeignKey(() => JobEntity, { name: 'question_job_fk', onDelete: 'CASCADE' })
  jobId!: string | null;
  @Column('uuid', { nullable: true })
  @ForeignKey(() => AutopilotSessionEntity, { name: 'question_session_fk', onDelete: 'CASCADE' })
  sessionId!: string | null;
  @Column('uuid')
  @ForeignKey(() => AgentEntity, { name: 'question_agent_fk', onDelete: 'CASCADE' })
  agentId!: string;
  @Column('uuid', { nullable: true })
  workflowId!: string | null;
  @Column('text')
  questionKey!: string;
  @Column('text')
  question!: string;
  @Column('text')
  kind!: QuestionKind;
  @Column('text', { array: true, nullable: true })
  choices!: string[] | null;
  @Column('jsonb', { nullable: true })
  fields!: Record<string, unknown>[] | null;
  /** Roles and email addresses of the users who are allowed to answer; empty if every member is. */
  @Column('text', { array: true, default: [] })
  audience!: string[];
  @Column('jsonb', { nullable: true })
  defaultAnswer!: { value: unknown } | null;
  @Column('jsonb', { nullable: true })
  context!: Record<string, unknown> | null;
  @Column('text', { nullable: true })
  screenshotKey!: string | null;
  @Column('text', { default: 'open' })
  status!: QuestionStatus;
  @Column('jsonb', { nullable: true })
  answer!: { value: unknown } | null;
  /** The encrypted code; deleted when the run of the question ends. Null if the answer is not a code. */
  @Column('jsonb', { nullable: true })
  sealed!: Record<string, string> | null;
  /** Name of the answerer; processes of the previous version write and read only this. */
  @Column('text', { nullable: true })
  answeredBy!: string | null;
  @Column('jsonb', { nullable: true })
  answerer!: QuestionAnswerer | null;
  @Column('text', { nullable: true })
  answeredVia!: AnswerWay | null;
  @Column('text', { nullable: true })
  reason!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' })
  askedAt!: Date;
  @Column('timestamptz', { nullable: true })
  endedAt!: Date | null;
  @Column('timestamptz')
  expiresAt!: Date;
  /** Inbound address whose next message answers the question; null if there is none. */
  @Column('uuid', { nullable: true })
  @ForeignKey(() => InboundCodeEntity, { name: 'question_inbound_fk', onDelete: 'SET NULL' })
  inboundId!: string | null;
  /** Whether the question's timeout was shortened to the rest of the run's maximum runtime. */
  @Column('boolean', { default: false })
  cut!: boolean;
  /** Whether people who may answer can use the run's browser while the question is open. */
  @Column('boolean', { default: false })
  takeover!: boolean;
}
