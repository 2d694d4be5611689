import {
  BooleanField,
  DateTimeField,
  EnumField,
  IntField,
  ListField,
  NumberField,
  ObjectField,
  TextField,
  TextListField,
  TextMapField,
  UuidField,
} from '../fields';
import { type SelectorKind, selectorKinds } from '../agents/autopilot-commands';
import { PageQuery } from '../pages';
import { AutopilotTask } from './autopilot-task';
import {
  type AttemptOutcome,
  attemptOutcomes,
  type AutopilotAction,
  autopilotActions,
  type PauseReason,
  pauseReasons,
  type SessionStatus,
  sessionStatuses,
  type SessionStepStatus,
  sessionStepStatuses,
  type StepStrategy,
  stepStrategies,
  type SubmitPolicy,
  submitPolicies,
} from './autopilot-words';

export class SessionLimits {
  @IntField({
    optional: true,
    min: 1,
    max: 500,
    description: 'Maximum number of steps that are started; 50 if absent.',
    example: 50,
  })
  steps?: number;
  @IntField({
    optional: true,
    min: 1,
    max: 50,
    description: 'Maximum number of attempts before the session pauses; 5 if absent.',
    example: 5,
  })
  attemptsPerStep?: number;
  @NumberField({
    optional: true,
    min: 0.01,
    max: 1440,
    description: 'Maximum duration in minutes, without pauses; 60 if absent.',
    example: 60,
  })
  minutes?: number;
  @NumberField({
    optional: true,
    min: 0,
    max: 10_000,
    description: 'Maximum cost of the session’s model calls in USD; 5 if absent.',
    example: 5,
  })
  costUsd?: number;
}

const overrideExample =
  'page.goto("/claims")\npage.fill("aria/Claim number", "{{CLAIM_ID}}")\npage.click("aria/Search")';
const overrideCode = [
  'Python code that is run once in place of the step and is not saved. `page` is the browser page. Its methods:',
  '- `page.goto(url)`, `page.click(selector)`, `page.hover(selector)`, `page.press(key, selector=None)`, ' +
    '`page.wait(ms)`',
  '- `page.fill(selector, value)`, `page.select(selector, value)`, `page.check(selector, value="true")`',
  '- `page.upload(selector, path)`, `page.scroll(x, y, selector)`, `page.screenshot(path)`',
  '- `page.extract(selector, name)`, which adds a value to the session’s results',
  '- `page.wait_for_element(selector)`, `page.wait_for_expression(javascript)`',
  '',
  'A selector is CSS, `aria/Name`, `aria/Name[role="button"]`, `text/…` or `xpath/…`, or a list of ' +
    'selectors: the first one that matches is used. `{{NAME}}` in a text is replaced with an input or a vault secret ' +
    'of the session. Most methods accept `timeout` in seconds. If the code fails, the session pauses again with the ' +
    'error in its question. The model is not called.',
].join('\n');

export class StepOverride {
  @TextField({
    optional: true,
    max: 100,
    description: 'Id of the step to override; the step at which the session paused if absent.',
  })
  stepId?: string;
  @TextField({
    optional: true,
    max: 4000,
    description: 'Instruction that replaces the step’s own. Cannot be combined with code.',
  })
  instruction?: string;
  @TextField({ optional: true, max: 100_000, description: overrideCode, example: overrideExample }) code?: string;
  @BooleanField({ optional: true, description: 'true skips the step. Cannot be combined with instruction or code.' })
  skip?: boolean;
}

export class AutopilotBody {
  @EnumField(autopilotActions) action!: AutopilotAction;
  @TextField({
    optional: true,
    max: 8000,
    description:
      'For `generate-task` and `start`: description of the work in plain words. For start, specify either intent or task.',
  })
  intent?: string;
  @ObjectField(() => AutopilotTask, {
    optional: true,
    description:
      'For `start`: the task to perform, in the format that generate-task returns. Specify either task or intent.',
  })
  task?: AutopilotTask;
  @TextMapField({
    optional: true,
    maxKeys: 100,
    description: 'For `start`: values of the task’s inputs by name.',
    example: { CLAIM_ID: 'C-1' },
  })
  inputs?: Record<string, string>;
  @TextListField({
    optional: true,
    maxItems: 100,
    max: 100,
    description: 'For `start`: names of the vault secrets that the steps are allowed to use.',
  })
  vaultKeys?: string[];
  @TextField({
    optional: true,
    description: 'For `start`: name of the workflow that a completed session creates; the title of the task if absent.',
  })
  workflowName?: string;
  @ObjectField(() => SessionLimits, {
    optional: true,
    description: 'For `start`: limits at which the session pauses or ends, such as its number of steps and its cost.',
  })
  limits?: SessionLimits;
  @EnumField(submitPolicies, {
    optional: true,
    description:
      'For `start`: before_submit pauses the session before it submits anything; never, the default, does not pause.',
  })
  approve?: SubmitPolicy;
  @TextField({
    optional: true,
    max: 500_000,
    description: 'For `analyze-script`: the script. Specify either script or workflowId.',
  })
  script?: string;
  @UuidField({
    optional: true,
    description: 'For `analyze-script`: id of a workflow. Specify either workflowId or script.',
  })
  workflowId?: string;
  @TextField({ optional: true, max: 8000, description: 'For `analyze-script`: description of what the script lacks.' })
  gap?: string;
  @UuidField({ optional: true, description: 'For `cancel` and `resume`: id of the session. Required.' })
  sessionId?: string;
  @ObjectField(() => StepOverride, {
    optional: true,
    description: 'For `resume`: change to one step before the session continues.',
  })
  stepOverride?: StepOverride;
}

export class TaskPlan {
  @ObjectField(() => AutopilotTask) task!: AutopilotTask;
  // eslint-disable-next-line id-denylist -- A field of the API.
  @TextListField({ maxItems: 200, description: 'Ids of the steps that the script already contains.' }) kept!: string[];
  @TextListField({ maxItems: 200, description: 'Ids of the steps that the script lacks.' }) added!: string[];
  @TextField({ min: 0, max: 10_000 }) notes!: string;
}

/** Response by action: generate-task returns the task, analyze-script the plan, the others the session. */
export class AutopilotAnswer {
  @ObjectField(() => AutopilotTask, { optional: true }) task?: AutopilotTask;
  @ObjectField(() => TaskPlan, { optional: true }) plan?: TaskPlan;
  @UuidField({ optional: true }) sessionId?: string;
  @EnumField(sessionStatuses, { optional: true }) status?: SessionStatus;
}

export class AutopilotQuery extends PageQuery {
  @UuidField({
    optional: true,
    description: 'Id of the session to return in full. If absent, the agent’s sessions are listed, newest first.',
  })
  sessionId?: string;
}

export class AutopilotSessionsQuery extends PageQuery {
  @UuidField({ optional: true }) agentId?: string;
  @EnumField(sessionStatuses, { optional: true }) status?: SessionStatus;
  @TextField({ optional: true, max: 200, description: 'Part of the title or of the error, or the session’s id.' })
  q?: string;
}

export class SessionPause {
  @EnumField(pauseReasons) reason!: PauseReason;
  @UuidField({
    nullable: true,
    description: 'Question that the session waits for. Its answer resumes the session, as `resume` does.',
  })
  questionId!: string | null;
  @TextField({ min: 0, max: 10_000 }) question!: string;
  @TextField({ nullable: true, max: 4096 }) screenshotUrl!: string | null;
}

export class AttemptUsage {
  @IntField() modelCalls!: number;
  @IntField() inputTokens!: number;
  @IntField() outputTokens!: number;
  @NumberField() costUsd!: number;
}

export class SessionAttempt {
  @IntField({ min: 1 }) attempt!: number;
  @EnumField(stepStrategies) strategy!: StepStrategy;
  @DateTimeField() startedAt!: string;
  @DateTimeField({ nullable: true }) finishedAt!: string | null;
  @EnumField(attemptOutcomes) outcome!: AttemptOutcome;
  @TextField({ nullable: true, min: 0, max: 10_000 }) error!: string | null;
  @TextField({ nullable: true, description: 'Code of the error; null if it has none.', example: 'model_failed' })
  code!: string | null;
  @TextField({ nullable: true, max: 4096 }) screenshotUrl!: string | null;
  @ObjectField(() => AttemptUsage) usage!: AttemptUsage;
}

export class RankedSelector {
  @TextField({ max: 2000 }) selector!: string;
  @EnumField(selectorKinds) kind!: SelectorKind;
  @NumberField({ description: 'Score of the selector; the selector with the highest score is the best.' })
  score!: number;
  @BooleanField({ description: 'Whether the selector matched exactly one element when it was checked.' })
  uniqueNow!: boolean;
}

export class StepSelectors {
  @TextField({ min: 0, max: 500 }) name!: string;
  @ListField(() => RankedSelector, { maxItems: 50 }) candidates!: RankedSelector[];
}

export class SessionStep {
  @TextField({ max: 100 }) id!: string;
  @TextField() title!: string;
  @EnumField(sessionStepStatuses) status!: SessionStepStatus;
  @ListField(() => SessionAttempt) attempts!: SessionAttempt[];
  @ListField(() => StepSelectors, { maxItems: 200 }) selectors!: StepSelectors[];
  @TextField({
    nullable: true,
    max: 200_000,
    description: 'Python code that performs the step without a model; null if there is none yet.',
  })
  stableCode!: string | null;
}

export class SessionMetrics {
  @IntField() steps!: number;
  @IntField() passed!: number;
  @IntField() attempts!: number;
  @IntField() modelCalls!: number;
  @IntField() inputTokens!: number;
  @IntField() outputTokens!: number;
  @NumberField() costUsd!: number;
  @IntField({ max: Number.MAX_SAFE_INTEGER }) durationMs!: number;
  @IntField({ description: 'Number of steps whose saved code failed, so that the model wrote it again.' })
  healed!: number;
}

export class AutopilotSessionSummary {
  @UuidField() sessionId!: string;
  @UuidField() agentId!: string;
  @EnumField(sessionStatuses) status!: SessionStatus;
  @TextField({ nullable: true, description: 'Title of the task; null until the model has written the task.' }) title!:
    string | null;
  @ObjectField(() => SessionPause, { nullable: true }) pausedFor!: SessionPause | null;
  @TextField({ nullable: true, min: 0, max: 10_000 }) error!: string | null;
  @TextField({ nullable: true }) code!: string | null;
  @ObjectField(() => SessionMetrics) metrics!: SessionMetrics;
  @UuidField({ nullable: true }) workflowId!: string | null;
  @DateTimeField() createdAt!: string;
  @DateTimeField({ nullable: true }) finishedAt!: string | null;
}

/** One session with its steps and their attempts. */
export class AutopilotSession {
  @UuidField() sessionId!: string;
  @UuidField() agentId!: string;
  @EnumField(sessionStatuses) status!: SessionStatus;
  @BooleanField({
    optional: true,
    description:
      'Present while the session is being cancelled: the worker has not confirmed yet that its browser is closed.',
  })
  cancelling?: true;
  @ObjectField(() => AutopilotTask, {
    nullable: true,
    description: 'Task of the session; null until the model has written it.',
  })
  task!: AutopilotTask | null;
  @TextField({
    nullable: true,
    description: 'Id of the current step; null before the first step and after the end of the session.',
  })
  currentStep!: string | null;
  @ObjectField(() => SessionPause, { nullable: true }) pausedFor!: SessionPause | null;
  @ListField(() => SessionStep) steps!: SessionStep[];
  @ObjectField(() => SessionMetrics) metrics!: SessionMetrics;
  @UuidField({ nullable: true }) workflowId!: string | null;
  @TextField({ nullable: true, min: 0, max: 10_000 }) error!: string | null;
  @TextField({ nullable: true, example: 'limit_reached' }) code!: string | null;
  @DateTimeField() createdAt!: string;
  @DateTimeField({ nullable: true }) finishedAt!: string | null;
}

export class AutopilotSessionList {
  @ListField(() => AutopilotSessionSummary) sessions!: AutopilotSessionSummary[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class AutopilotEventsQuery {
  @UuidField() sessionId!: string;
  @TextField({
    optional: true,
    max: 20,
    pattern: /^\d{1,20}$/,
    example: '4',
    description: 'Id of the last event received: the stream resumes after it. A Last-Event-ID header takes precedence.',
  })
  lastEventId?: string;
}

export class SessionEvent {
  @EnumField(['session', 'step', 'attempt']) type!: 'session' | 'step' | 'attempt';
  @UuidField() sessionId!: string;
  @EnumField([...new Set([...sessionStatuses, ...sessionStepStatuses, ...attemptOutcomes])]) status!: string;
  @TextField({ optional: true }) stepId?: string;
  @IntField({ optional: true }) attempt?: number;
  @EnumField(stepStrategies, { optional: true }) strategy?: StepStrategy;
  @TextField({ optional: true, max: 10_000 }) error?: string;
  @ObjectField(() => SessionPause, { optional: true }) pausedFor?: SessionPause;
  @DateTimeField() timestamp!: string;
}
