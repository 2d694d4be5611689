import type { AutopilotTask } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import type { SessionRow, StepRow } from './session-row';

/** Saves a session: its phase, what it waits for, its task and its totals. The caller holds the session's lock. */
export function saveSession(tx: Transaction, session: SessionRow): void {
  const { task, held, look, ending } = session;
  tx.deferStatement(
    `UPDATE autopilot_session SET phase = $2, command_id = $3, asking = $4, due_at = $5, at_step = $6, held = $7,
       look = $8, ending = $9, close_step = $10, steps_begun = $11, attempts = $12, passed = $13, healed = $14,
       model_calls = $15, input_tokens = $16, output_tokens = $17, cost_micros = $18, task = $19, task_key = $20,
       workflow_id = $21, faults = $22, ring_at = $23
     WHERE id = $1`,
    [
      ...[
        session.id,
        session.phase,
        session.commandId,
        session.asking,
        session.dueAt,
        session.atStep,
        toJsonOrNull(held),
      ],
      ...[
        toJsonOrNull(look),
        toJsonOrNull(ending),
        session.closeStep,
        session.stepsBegun,
        session.attempts,
        session.passed,
      ],
      ...[session.healed, session.modelCalls, session.inputTokens, session.outputTokens, session.costMicros],
      ...[toJsonOrNull(task), session.taskKey, session.workflowId, session.faults, session.ringAt],
    ],
    'save_autopilot_session',
  );
}

export function saveStep(tx: Transaction, step: StepRow): void {
  const { sessionId, position, status, instruction, codeOnce, tried, unsure, maySubmit, submitted, byHand } = step;
  tx.deferStatement(
    `UPDATE autopilot_step SET status = $3, instruction = $4, code_once = $5, tried = $6, unsure = $7, may_submit = $8,
       submitted = $9, by_hand = $10, last_error = $11, selectors = $12, stable_code = $13, extracted = $14
     WHERE session_id = $1 AND position = $2`,
    [
      ...[sessionId, position, status, instruction, codeOnce, tried, unsure, maySubmit, submitted, byHand],
      ...[step.lastError, JSON.stringify(step.selectors), step.stableCode, JSON.stringify(step.extracted)],
    ],
    'save_autopilot_step',
  );
}

export function insertSteps(
  tx: Transaction,
  { id, organizationId }: Pick<SessionRow, 'id' | 'organizationId'>,
  { steps }: AutopilotTask,
): void {
  tx.deferStatement(
    `INSERT INTO autopilot_step (session_id, organization_id, position, step_id)
     SELECT $1, $2, ordinality - 1, step_id FROM unnest($3::text[]) WITH ORDINALITY AS s (step_id, ordinality)`,
    [id, organizationId, steps.map((step) => step.id)],
    'insert_autopilot_steps',
  );
}

function toJsonOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
