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

/** Progress of the session's current step. */
export type AutopilotPhase =
  'plan' | 'open' | 'begin' | 'look' | 'ask' | 'act' | 'recheck' | 'check' | 'close' | 'over';

/** An attempt that is in progress, or waits for a person's decision to continue. */
export interface HeldAttempt {
  attemptId: string;
  strategy: StepStrategy;
  actions?: SessionAction[];
  code?: string;
  /** Index of the action at which the attempt continues; the actions before it are done. */
  from: number;
  /** Whether the browser was instructed to submit something. Saved before the instruction is sent. */
  submitting: boolean;
  /** Whether the step had submitted something before this attempt. */
  sentBefore: boolean;
  done: DoneAction[];
  steps: Record<string, unknown>[];
}

export interface AutopilotPause {
  reason: PauseReason;
  question: string;
  screenshotKey: string | null;
  /** The row of the question; absent if a process of the previous version paused the session. */
  questionId?: string;
}

export interface AutopilotEnding {
  to: 'completed' | 'failed' | 'cancelled';
  error: string | null;
  code: string | null;
}

const statuses = "('queued', 'running', 'paused', 'resumed', 'completed', 'failed', 'cancelled')";
const phases = "('plan', 'open', 'begin', 'look', 'ask', 'act', 'recheck', 'check', 'close', 'over')";

/** A task that is executed step by step in one browser of an agent, and its cost. */
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
  /** User or API key that requested the session; the actor of its later audit entries. */
  @Column('jsonb') askedBy!: { kind: 'user' | 'api_key'; id: string; email?: string };
  @Column('text', { nullable: true }) intent!: string | null;
  /** Task; null until the model has derived it from the intent. */
  @Column('jsonb', { nullable: true }) task!: AutopilotTask | null;
  /** Key that is equal for equal tasks, so that they share their lessons; null until there is a task. */
  @Column('text', { nullable: true }) taskKey!: string | null;
  @Column('jsonb', { default: {} }) inputs!: Record<string, string>;
  @Column('text', { array: true, default: [] }) vaultKeys!: string[];
  @Column('text', { nullable: true }) workflowName!: string | null;
  @Column('integer') maxSteps!: number;
  @Column('integer') maxAttempts!: number;
  @Column('bigint') maxActiveMs!: number;
  @Column('bigint') maxCostMicros!: MicroUsd;
  @Column('text') approve!: SubmitPolicy;
  /** Command whose result the session waits for; null if it waits for none. */
  @Column('uuid', { nullable: true }) commandId!: string | null;
  /** Token of the process that is calling the model for the session, leased until `due_at`; null if none is. */
  @Column('uuid', { nullable: true }) asking!: string | null;
  /**
   * Time at which the session is advanced if no message does so earlier; null if the session waits for a person or has
   * ended.
   */
  @Column('timestamptz', { nullable: true, default: () => 'muster_now()' }) dueAt!: Date | null;
  /** Number of consecutive failed attempts to advance the session. */
  @Column('integer', { default: 0 }) faults!: number;
  /**
   * Time at which another message about the session is sent, after one was sent or an advance failed; otherwise null,
   * and `due_at` applies.
   */
  @Column('timestamptz', { nullable: true }) ringAt!: Date | null;
  /** Position of the session's current step in its task; null before the first step. */
  @Column('integer', { nullable: true }) atStep!: number | null;
  @Column('jsonb', { nullable: true }) held!: HeldAttempt | null;
  /** Snapshot of the browser's page that the worker reported last; null before the first one. */
  @Column('jsonb', { nullable: true }) look!: PageLook | null;
  @Column('jsonb', { nullable: true }) pausedFor!: AutopilotPause | null;
  /** Status that the session gets once its browser is closed; null if the session is not ending. */
  @Column('jsonb', { nullable: true }) ending!: AutopilotEnding | null;
  /** Number of attempts to close the session's browser. */
  @Column('integer', { default: 0 }) closeStep!: number;
  @Column('integer', { default: 0 }) stepsBegun!: number;
  @Column('integer', { default: 0 }) attempts!: number;
  @Column('integer', { default: 0 }) passed!: number;
  @Column('integer', { default: 0 }) healed!: number;
  @Column('integer', { default: 0 }) modelCalls!: number;
  @Column('bigint', { default: 0 }) inputTokens!: number;
  @Column('bigint', { default: 0 }) outputTokens!: number;
  @Column('bigint', { default: 0 }) costMicros!: MicroUsd;
  /** Milliseconds for which the session was active before `active_since`, without its pauses. */
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
  /** Instruction of a person for the step, which replaces that of the task; null if there is none. */
  @Column('text', { nullable: true }) instruction!: string | null;
  /** Code that a person wrote for the step's next attempt only; null if there is none. */
  @Column('text', { nullable: true }) codeOnce!: string | null;
  /** Strategies of the attempts since the step was started, or last resumed by a person. */
  @Column('text', { array: true, default: [] }) tried!: StepStrategy[];
  /** Number of consecutive answers in which the model was unsure how to do the step. */
  @Column('integer', { default: 0 }) unsure!: number;
  /** Whether a person allowed the next attempt to submit something. */
  @Column('boolean', { default: false }) maySubmit!: boolean;
  /** Whether an attempt of the step has submitted something, or may have. */
  @Column('boolean', { default: false }) submitted!: boolean;
  /** Whether the step passed with code, or with a one-time code, of a person, so that there is no lesson. */
  @Column('boolean', { default: false }) byHand!: boolean;
  @Column('text', { nullable: true }) lastError!: string | null;
  @Column('jsonb', { default: [] }) selectors!: Pick<DoneAction, 'name' | 'candidates'>[];
  /**
   * Code that repeats the step; null if there is none. If the step is by hand, only the workflow of the session uses it,
   * because it asks a person for a one-time code.
   */
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

/** An event of a session's stream. The events of each session are numbered from 1. */
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

/** How a step of a task succeeded, so that the next session with the same task needs no model for it. */
@Entity('autopilot_lesson')
export class AutopilotLessonEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OrganizationEntity, { name: 'autopilot_lesson_organization_fk', onDelete: 'CASCADE' })
  organizationId!: string;
  @PrimaryColumn('text') taskKey!: string;
  @PrimaryColumn('text') stepId!: string;
  @Column('text') code!: string;
  /** The actions that `code` performs, each with all known selectors, best first. */
  @Column('jsonb') actions!: SessionAction[];
  @Column('jsonb') selectors!: Pick<DoneAction, 'name' | 'candidates'>[];
  /** Names of the values that the step extracts. */
  @Column('text', { array: true, default: [] }) extracts!: string[];
  @Column('integer', { default: 0 }) healed!: number;
  @Column('uuid') sessionId!: string;
  @Column('timestamptz', { default: () => 'muster_now()' }) updatedAt!: Date;
}
