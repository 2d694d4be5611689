/** Statuses of a job (interface, section 3). The last three are final. */
export const jobStatuses = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof jobStatuses)[number];

export const openJobStatuses = ['queued', 'running'] as const satisfies readonly JobStatus[];
export const terminalJobStatuses = ['completed', 'failed', 'cancelled'] as const satisfies readonly JobStatus[];
export type TerminalJobStatus = (typeof terminalJobStatuses)[number];

export function isTerminalStatus(status: JobStatus): status is TerminalJobStatus {
  return (terminalJobStatuses as readonly JobStatus[]).includes(status);
}

/** Reasons why a queued job has not started. */
export const waitingReasons = [
  'agent_busy',
  'agent_waking',
  'agent_offline',
  'concurrency_limit',
  'concurrency_key',
  'account_busy',
  'retry_delay',
  'billing_gate',
  'secret_missing',
  'draining',
  'no_agent_free',
  'no_agent_online',
] as const;
export type WaitingReason = (typeof waitingReasons)[number];

/** Reasons why a worker's report changed nothing. */
export const callbackReasons = [
  /** The job has ended. The worker must kill the processes of the job that still run. */
  'job_over',
  /** A later report of the same step was applied before. */
  'not_newer',
  /** The job was never sent to an agent. */
  'not_dispatched',
  /** Another job is running on the agent. */
  'agent_busy',
] as const;
export type CallbackReason = (typeof callbackReasons)[number];

export const stepStatuses = ['pending', 'running', 'passed', 'failed', 'skipped'] as const;
export type StepStatus = (typeof stepStatuses)[number];

export const claimOutcomes = ['eob_uploaded', 'no_eob_found', 'failed'] as const;
export type ClaimOutcome = (typeof claimOutcomes)[number];

/** Kinds of data that a run delivers in addition to its final status, as named in `incomplete`. */
export const deliveredKinds = [
  ...(['run_summary', 'claim', 'step', 'ai_usage', 'progress', 'log', 'artifact', 'screenshot'] as const),
  ...(['result', 'report'] as const),
] as const;
export type DeliveredKind = (typeof deliveredKinds)[number];

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];
