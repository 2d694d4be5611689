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
  @IntField({ optional: true, min: 1, max: 500, description: 'Steps begun; 50 when absent.', example: 50 })
  steps?: number;
  @IntField({ optional: true, min: 1, max: 50, description: '5 when absent.', example: 5 }) attemptsPerStep?: number;
  @NumberField({ optional: true, min: 0.01, max: 1440, description: 'Pauses apart; 60 when absent.', example: 60 })
  minutes?: number;
  @NumberField({
    optional: true,
    min: 0,
    max: 10_000,
    description: 'What its model calls may cost; 5 when absent.',
    example: 5,
  })
  costUsd?: number;
}

const overrideExample =
  'page.goto("/claims")\npage.fill("aria/Claim number", "{{CLAIM_ID}}")\npage.click("aria/Search")';
const overrideCode = [
  'Python, run once in place of the step and not kept. `page` is the page, and has the steps’ names:',
  '- `page.goto(url)`, `page.click(selector)`, `page.hover(selector)`, `page.press(key, selector=None)`, `page.wait(ms)`',
  '- `page.fill(selector, value)`, `page.select(selector, value)`, `page.check(selector, value="true")`, `page.upload(selector, path)`',
  '- `page.extract(selector, name)` into what the session finds, `page.scroll(x, y, selector)`, `page.screenshot(path)`',
  '- `page.wait_for_element(selector)`, `page.wait_for_expression(javascript)`',
  '',
  'A selector is CSS, `aria/Name`, `aria/Name[role="button"]`, `text/…` or `xpath/…`, or a list of them, of which the first ' +
    'that fits is used. `{{NAME}}` in a text is an input or a vault key of the session. Most take `timeout` in seconds. Code that ' +
    'fails pauses the session again, with the error as its question; no model is asked.',
].join('\n');

export class StepOverride {
  @TextField({ optional: true, max: 100, description: 'The step that it waits in, unless said.' }) stepId?: string;
  @TextField({ optional: true, max: 4000, description: 'What to do in place of the step’s own instruction.' })
  instruction?: string;
  @TextField({ optional: true, max: 100_000, description: overrideCode, example: overrideExample }) code?: string;
  @BooleanField({ optional: true, description: 'true: the step is left out.' }) skip?: boolean;
}

export class AutopilotBody {
  @EnumField(autopilotActions) action!: AutopilotAction;
  @TextField({ optional: true, max: 8000, description: 'generate-task, start: what is to be done, in plain words.' })
  intent?: string;
  @ObjectField(() => AutopilotTask, { optional: true, description: 'start: this or intent.' }) task?: AutopilotTask;
  @TextMapField({
    optional: true,
    maxKeys: 100,
    description: 'start: the task’s inputs.',
    example: { CLAIM_ID: 'C-1' },
  })
  inputs?: Record<string, string>;
  @TextListField({ optional: true, maxItems: 100, max: 100, description: 'start: secrets that the steps may name.' })
  vaultKeys?: string[];
  @TextField({ optional: true, description: 'start: what the workflow that it makes is called.' })
  workflowName?: string;
  @ObjectField(() => SessionLimits, { optional: true, description: 'start' }) limits?: SessionLimits;
  @EnumField(submitPolicies, {
    optional: true,
    description: 'start: before_submit pauses before anything is sent for good; never when absent.',
  })
  approve?: SubmitPolicy;
  @TextField({ optional: true, max: 500_000, description: 'analyze-script: this or workflowId.' }) script?: string;
  @UuidField({ optional: true, description: 'analyze-script: this or script.' }) workflowId?: string;
  @TextField({ optional: true, max: 8000, description: 'analyze-script: what it lacks.' }) gap?: string;
  @UuidField({ optional: true, description: 'cancel, resume' }) sessionId?: string;
  @ObjectField(() => StepOverride, { optional: true, description: 'resume' }) stepOverride?: StepOverride;
}

export class TaskPlan {
  @ObjectField(() => AutopilotTask) task!: AutopilotTask;
  @TextListField({ maxItems: 200, description: 'Steps that the script has already.' }) kept!: string[];
  @TextListField({ maxItems: 200, description: 'Steps that it lacks.' }) added!: string[];
  @TextField({ min: 0, max: 10_000 }) notes!: string;
}

/** What each action answers: generate-task the task, analyze-script the plan, the others the session. */
export class AutopilotAnswer {
  @ObjectField(() => AutopilotTask, { optional: true }) task?: AutopilotTask;
  @ObjectField(() => TaskPlan, { optional: true }) plan?: TaskPlan;
  @UuidField({ optional: true }) sessionId?: string;
  @EnumField(sessionStatuses, { optional: true }) status?: SessionStatus;
}

export class AutopilotQuery extends PageQuery {
  @UuidField({ optional: true, description: 'One session, whole; the recent ones when absent.' }) sessionId?: string;
}

export class AutopilotSessionsQuery extends PageQuery {
  @UuidField({ optional: true }) agentId?: string;
  @EnumField(sessionStatuses, { optional: true }) status?: SessionStatus;
  @TextField({ optional: true, max: 200, description: 'A part of its title or its error, or its id.' }) q?: string;
}

export class SessionPause {
  @EnumField(pauseReasons) reason!: PauseReason;
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
  @TextField({ nullable: true, description: 'The error’s code, where it has one.', example: 'model_failed' })
  code!: string | null;
  @TextField({ nullable: true, max: 4096 }) screenshotUrl!: string | null;
  @ObjectField(() => AttemptUsage) usage!: AttemptUsage;
}

export class RankedSelector {
  @TextField({ max: 2000 }) selector!: string;
  @EnumField(selectorKinds) kind!: SelectorKind;
  @NumberField({ description: 'The higher the better.' }) score!: number;
  @BooleanField({ description: 'It fitted one element alone when it was looked at.' }) uniqueNow!: boolean;
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
  @TextField({ nullable: true, max: 200_000, description: 'Python that does it without a model.' })
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
  @IntField({ description: 'Steps whose stable code failed and was mended.' }) healed!: number;
}

export class AutopilotSessionSummary {
  @UuidField() sessionId!: string;
  @UuidField() agentId!: string;
  @EnumField(sessionStatuses) status!: SessionStatus;
  @TextField({ nullable: true, description: 'Null until the task is known.' }) title!: string | null;
  @ObjectField(() => SessionPause, { nullable: true }) pausedFor!: SessionPause | null;
  @TextField({ nullable: true, min: 0, max: 10_000 }) error!: string | null;
  @TextField({ nullable: true }) code!: string | null;
  @ObjectField(() => SessionMetrics) metrics!: SessionMetrics;
  @UuidField({ nullable: true }) workflowId!: string | null;
  @DateTimeField() createdAt!: string;
  @DateTimeField({ nullable: true }) finishedAt!: string | null;
}

/** A session whole, or a page of the recent ones. */
export class AutopilotSession {
  @UuidField() sessionId!: string;
  @UuidField() agentId!: string;
  @EnumField(sessionStatuses) status!: SessionStatus;
  @BooleanField({ optional: true, description: 'It is to end, and its browser has not said yet that it has.' })
  cancelling?: true;
  @ObjectField(() => AutopilotTask, { nullable: true, description: 'Null until the model has written it.' })
  task!: AutopilotTask | null;
  @TextField({ nullable: true, description: 'The id of the step that it is at.' }) currentStep!: string | null;
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
    description: 'The last id that was seen; a Last-Event-ID header goes before it.',
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
