export const autopilotActions = ['generate-task', 'analyze-script', 'start', 'cancel', 'resume'] as const;
export type AutopilotAction = (typeof autopilotActions)[number];

export const sessionStatuses = ['queued', 'running', 'paused', 'resumed', 'completed', 'failed', 'cancelled'] as const;
export type SessionStatus = (typeof sessionStatuses)[number];

export const pauseReasons = [
  'attempts_exhausted',
  'one_time_code',
  'captcha',
  'before_submit',
  'unsure',
  'outcome_unknown',
] as const;
export type PauseReason = (typeof pauseReasons)[number];

export const taskStepKinds = ['browse', 'extract', 'verify'] as const;
export type TaskStepKind = (typeof taskStepKinds)[number];

export const sessionStepStatuses = ['pending', 'running', 'passed', 'failed', 'skipped'] as const;
export type SessionStepStatus = (typeof sessionStepStatuses)[number];

/** Ways to perform a step, cheapest first. */
export const stepStrategies = ['stable_code', 'selectors', 'model'] as const;
export type StepStrategy = (typeof stepStrategies)[number];

/**
 * Outcome of an attempt. `unknown`: it may have submitted something, and its result was not reported. `stopped`: a
 * person must approve before it submits. `blocked`, `unsure`: the model could not continue.
 */
export const attemptOutcomes = ['running', 'passed', 'failed', 'unknown', 'stopped', 'blocked', 'unsure'] as const;
export type AttemptOutcome = (typeof attemptOutcomes)[number];

export const submitPolicies = ['never', 'before_submit'] as const;
export type SubmitPolicy = (typeof submitPolicies)[number];
