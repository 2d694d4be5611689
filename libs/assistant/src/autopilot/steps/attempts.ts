import { type AttemptOutcome, shortenText, type StepStrategy } from '@muster/contracts';
import { newId } from '@muster/platform';
import type { ModelUsage } from '@muster/models';
import { appendSessionEvent } from '../session/session-events';
import type { StepRow } from '../session/session-row';
import { getStepTitle, type Work } from './work';

/** Records an attempt of a step before the attempt is executed. Returns its id. */
export async function startAttempt({ tx, session }: Work, step: StepRow, strategy: StepStrategy): Promise<string> {
  const id = newId();
  const [row] = await tx.query<{ attempt: number }>(
    `INSERT INTO autopilot_attempt (id, session_id, organization_id, position, attempt, strategy)
     SELECT $1, $2, $3, $4, 1 + count(*), $5 FROM autopilot_attempt WHERE session_id = $2 AND position = $4
     RETURNING attempt`,
    [id, session.id, session.organizationId, step.position, strategy],
    'begin_autopilot_attempt',
  );
  session.attempts += 1;
  step.tried = [...step.tried, strategy];
  const data = { stepId: step.stepId, attempt: row!.attempt, strategy, status: 'running' };
  appendSessionEvent(tx, session, { type: 'attempt', data });
  return id;
}

export interface AttemptEnd {
  outcome: Exclude<AttemptOutcome, 'running'>;
  error?: string | null;
  code?: string | null;
  screenshotKey?: string | null;
  submitted?: boolean;
}

const maxErrorLength = 2000;

export async function endAttempt(work: Work, step: StepRow, attemptId: string, end: AttemptEnd): Promise<void> {
  const { tx, session } = work;
  const { outcome, code = null, screenshotKey = null, submitted = null } = end;
  const error = end.error ? shortenText(end.error, maxErrorLength) : null;
  const [row] = await tx.query<{ attempt: number; strategy: StepStrategy }>(
    `UPDATE autopilot_attempt SET outcome = $2, error = $3, error_code = $4,
       screenshot_key = COALESCE($5, screenshot_key), submitted = COALESCE($6, submitted), finished_at = muster_clock()
     WHERE id = $1 AND outcome = 'running' RETURNING attempt, strategy`,
    [attemptId, outcome, error, code, screenshotKey, submitted],
    'end_autopilot_attempt',
  );
  if (!row) return;
  if (outcome !== 'passed') step.lastError = error;
  const { attempt, strategy } = row;
  const data = { stepId: step.stepId, attempt, strategy, status: outcome, ...(error ? { error } : {}) };
  const summary = `${getStepTitle(work, step.position)}: attempt ${attempt} by ${strategyLabels[strategy]} ${outcome}`;
  const message = error ? `${summary}: ${error}` : summary;
  appendSessionEvent(tx, session, { type: 'attempt', data, message, level: outcome === 'passed' ? 'info' : 'warn' });
}

/** Adds the usage of a model call, also of a failed one, to the session and to its attempt. */
export function addModelUsage({ tx, session }: Work, attemptId: string | null, usage: ModelUsage): void {
  session.modelCalls += usage.calls;
  session.inputTokens += usage.inputTokens;
  session.outputTokens += usage.outputTokens;
  session.costMicros = BigInt(session.costMicros) + BigInt(usage.costMicros);
  if (!attemptId) return;
  tx.deferStatement(
    `UPDATE autopilot_attempt SET model_calls = model_calls + $5, input_tokens = input_tokens + $2,
       output_tokens = output_tokens + $3, cost_micros = cost_micros + $4 WHERE id = $1`,
    [attemptId, usage.inputTokens, usage.outputTokens, usage.costMicros, usage.calls],
    'autopilot_attempt_usage',
  );
}

/** Ends the attempts that are still running when the session ends. */
export function endOpenAttempts({ tx, session }: Pick<Work, 'tx' | 'session'>, error: string): void {
  tx.deferStatement(
    `UPDATE autopilot_attempt SET outcome = CASE WHEN submitted THEN 'unknown' ELSE 'failed' END, error = $2,
       finished_at = muster_now() WHERE session_id = $1 AND outcome = 'running'`,
    [session.id, error],
    'end_autopilot_attempts',
  );
}

const strategyLabels: Record<StepStrategy, string> = {
  stable_code: 'stable code',
  selectors: 'known selectors',
  model: 'the model',
};
