import type {
  AttemptOutcome,
  AutopilotTask,
  DoneAction,
  MicroUsd,
  PageLook,
  PauseReason,
  SessionAction,
  SessionStatus,
  SessionStepStatus,
  StepStrategy,
  SubmitPolicy,
} from '@muster/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AgentEntity } from './agent';
import { OrganizationEntity } from './organization';

/** What a session does next, or waits for the end of. */
export type AutopilotPhase =
  'plan' | 'open' | 'begin' | 'look' | 'ask' | 'act' | 'recheck' | 'check' | 'close' | 'over';

/** An attempt that is under way, or waits for somebody's word to go on. */
export interface HeldAttempt {
  attemptId: string;
  strategy: StepStrategy;
  actions?: SessionAction[];
  code?: string;
  /** What of it is done: it goes on here. */
  from: number;
  /** It was told to send something for good. Written down before it is told. */
  submitting: boolean;
  /** The step had sent something before it. */
  sentBefore: boolean;
  done: DoneAction[];
  steps: Record<string, unknown>[];
}

export interface AutopilotPause {
  reason: PauseReason;
  question: string;
  screenshotKey: string | null;
}

export interface AutopilotEnding {
  to: 'completed' | 'failed' | 'cancelled';
  error: string | null;
  code: string | null;
}

const statuses = "('queued', 'running', 'paused', 'resumed', 'completed', 'failed', 'cancelled')";
const phases = "('plan', 'open', 'begin', 'look', 'ask', 'act', 'recheck', 'check', 'close', 'over')";

/** A task that is done step by step in one browser of an agent, and what it has cost. */
@Entity('autopilot_session')
@Check('autopilot_session_status_check', `status IN ${statuses}`)
@Check('autopilot_session_phase_check', `phase IN ${phases}`)
@Check('autopilot_session_approve_check', "approve IN ('never', 'before_submit')")
@Index('autopilot_session_agent_idx', ['agentId', 'id'])
@Index('autopilot_session_organization_idx', ['organizationId', 'finishedAt'])
@Index('autopilot_session_list_idx', ['organizationId', 'id'])
@Index('autopilot_session_due_idx', ['dueAt', 'id'], { where: 'due_at IS NOT NULL' })
@Index('autopilot_session_ring_idx', ['ringAt'], { where: 'ring_at IS NOT NULL' })
export class AutopilotSessionEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'autopilot_session_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('uuid')
  @ForeignKey(() => AgentEntity, { name: 'autopilot_session_agent_fk', onDelete: 'CASCADE' })
  agentId!: string;
  @Column('text', { default: 'queued' }) status!: SessionStatus;
  @Column('text') phase!: AutopilotPhase;
  /** For the audit of what it does later. */
  @Column('jsonb') askedBy!: { kind: 'user' | 'api_key'; id: string; email?: string };
  @Column('text', { nullable: true }) intent!: string | null;
  /** Null until the model has written it from the intent. */
  @Column('jsonb', { nullable: true }) task!: AutopilotTask | null;
  /** What makes two tasks the same; what was learned of one serves the other. */
  @Column('text', { nullable: true }) taskKey!: string | null;
  @Column('jsonb', { default: {} }) inputs!: Record<string, string>;
  @Column('text', { array: true, default: [] }) vaultKeys!: string[];
  @Column('text', { nullable: true }) workflowName!: string | null;
  @Column('integer') maxSteps!: number;
  @Column('integer') maxAttempts!: number;
  @Column('bigint') maxActiveMs!: number;
  @Column('bigint') maxCostMicros!: MicroUsd;
  @Column('text') approve!: SubmitPolicy;
  /** Whose end it waits for. */
  @Column('uuid', { nullable: true }) commandId!: string | null;
  /** Who asks the model for it at this moment, until due_at. */
  @Column('uuid', { nullable: true }) asking!: string | null;
  /** When it is looked at again should nobody ring for it; null where nothing can happen by itself. */
  @Column('timestamptz', { nullable: true, default: () => 'muster_now()' }) dueAt!: Date | null;
  /** Its handlings in a row that broke. */
  @Column('integer', { default: 0 }) faults!: number;
  /** It was rung for, or its handling broke: when it is rung for again, and not before. */
  @Column('timestamptz', { nullable: true }) ringAt!: Date | null;
  /** The position of the step that it is at. */
  @Column('integer', { nullable: true }) atStep!: number | null;
  @Column('jsonb', { nullable: true }) held!: HeldAttempt | null;
  /** The page, as it was seen last. */
  @Column('jsonb', { nullable: true }) look!: PageLook | null;
  @Column('jsonb', { nullable: true }) pausedFor!: AutopilotPause | null;
  /** What it becomes once its browser is closed. */
  @Column('jsonb', { nullable: true }) ending!: AutopilotEnding | null;
  /** How often its browser was told to close. */
  @Column('integer', { default: 0 }) closeStep!: number;
  @Column('integer', { default: 0 }) stepsBegun!: number;
  @Column('integer', { default: 0 }) attempts!: number;
  @Column('integer', { default: 0 }) passed!: number;
  @Column('integer', { default: 0 }) healed!: number;
  @Column('integer', { default: 0 }) modelCalls!: number;
  @Column('bigint', { default: 0 }) inputTokens!: number;
  @Column('bigint', { default: 0 }) outputTokens!: number;
  @Column('bigint', { default: 0 }) costMicros!: MicroUsd;
  /** How long it was at work before active_since; pauses don't count. */
  @Column('bigint', { default: 0 }) activeMs!: number;
  @Column('timestamptz', { nullable: true }) activeSince!: Date | null;
  @Column('integer', { default: 0 }) lastEvent!: number;
  @Column('text', { nullable: true }) error!: string | null;
  @Column('text', { nullable: true }) errorCode!: string | null;
  @Column('uuid', { nullable: true }) workflowId!: string | null;
  @Column('timestamptz', { default: () => 'muster_now()' }) createdAt!: Date;
  @Column('timestamptz', { nullable: true }) startedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) finishedAt!: Date | null;
}

@Entity('autopilot_step')
@Check('autopilot_step_status_check', "status IN ('pending', 'running', 'passed', 'failed', 'skipped')")
export class AutopilotStepEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => AutopilotSessionEntity, { name: 'autopilot_step_session_fk', onDelete: 'CASCADE' })
  sessionId!: string;
  @PrimaryColumn('integer') position!: number;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'autopilot_step_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') stepId!: string;
  @Column('text', { default: 'pending' }) status!: SessionStepStatus;
  /** A person's, in place of the task's. */
  @Column('text', { nullable: true }) instruction!: string | null;
  /** A person's, for the next attempt alone. */
  @Column('text', { nullable: true }) codeOnce!: string | null;
  /** The strategies of its attempts, since it was begun or somebody resumed it. */
  @Column('text', { array: true, default: [] }) tried!: StepStrategy[];
  /** How often in a row the model was. */
  @Column('integer', { default: 0 }) unsure!: number;
  /** A person said that the next attempt may send something for good. */
  @Column('boolean', { default: false }) maySubmit!: boolean;
  /** An attempt of it has sent something for good, or may have. */
  @Column('boolean', { default: false }) submitted!: boolean;
  /** It passed by a person's code, so nothing was learned. */
  @Column('boolean', { default: false }) byHand!: boolean;
  @Column('text', { nullable: true }) lastError!: string | null;
  @Column('jsonb', { default: [] }) selectors!: Pick<DoneAction, 'name' | 'candidates'>[];
  @Column('text', { nullable: true }) stableCode!: string | null;
  @Column('jsonb', { default: {} }) extracted!: Record<string, unknown>;
}

@Entity('autopilot_attempt')
@Check('autopilot_attempt_strategy_check', "strategy IN ('stable_code', 'selectors', 'model')")
@Check(
  'autopilot_attempt_outcome_check',
  "outcome IN ('running', 'passed', 'failed', 'unknown', 'stopped', 'blocked', 'unsure')",
)
@Index('autopilot_attempt_key', ['sessionId', 'position', 'attempt'], { unique: true })
export class AutopilotAttemptEntity {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid')
  @ForeignKey(() => AutopilotSessionEntity, { name: 'autopilot_attempt_session_fk', onDelete: 'CASCADE' })
  sessionId!: string;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'autopilot_attempt_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('integer') position!: number;
  @Column('integer') attempt!: number;
  @Column('text') strategy!: StepStrategy;
  @Column('text', { default: 'running' }) outcome!: AttemptOutcome;
  @Column('text', { nullable: true }) error!: string | null;
  @Column('text', { nullable: true }) errorCode!: string | null;
  @Column('text', { nullable: true }) screenshotKey!: string | null;
  @Column('boolean', { default: false }) submitted!: boolean;
  @Column('integer', { default: 0 }) modelCalls!: number;
  @Column('bigint', { default: 0 }) inputTokens!: number;
  @Column('bigint', { default: 0 }) outputTokens!: number;
  @Column('bigint', { default: 0 }) costMicros!: MicroUsd;
  @Column('timestamptz', { default: () => 'muster_now()' }) startedAt!: Date;
  @Column('timestamptz', { nullable: true }) finishedAt!: Date | null;
}

/** A session's own stream, numbered from 1. */
@Entity('autopilot_event')
@Check('autopilot_event_type_check', "type IN ('session', 'step', 'attempt')")
export class AutopilotEventEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => AutopilotSessionEntity, { name: 'autopilot_event_session_fk', onDelete: 'CASCADE' })
  sessionId!: string;
  @PrimaryColumn('integer') seq!: number;
  @Column('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'autopilot_event_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @Column('text') type!: 'session' | 'step' | 'attempt';
  @Column('jsonb') data!: Record<string, unknown>;
  @Column('timestamptz', { default: () => 'muster_now()' }) at!: Date;
}

/** How a step of a task was done, so that the next session of the same task needs no model for it. */
@Entity('autopilot_lesson')
export class AutopilotLessonEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'autopilot_lesson_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text') taskKey!: string;
  @PrimaryColumn('text') stepId!: string;
  @Column('text') code!: string;
  /** The same with every selector that is known, the best first. */
  @Column('jsonb') actions!: SessionAction[];
  @Column('jsonb') selectors!: Pick<DoneAction, 'name' | 'candidates'>[];
  /** Names of what it reads. */
  @Column('text', { array: true, default: [] }) extracts!: string[];
  @Column('integer', { default: 0 }) healed!: number;
  @Column('uuid') sessionId!: string;
  @Column('timestamptz', { default: () => 'muster_now()' }) updatedAt!: Date;
}
