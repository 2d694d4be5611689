import { v7 } from 'uuid';
import { type Routine, routines } from './practice';
import { computeMicrosPerHour, type Month, type Subjects, generateVariables } from './subjects';

export type Row = Record<string, unknown>;

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;
const modelMicrosPerToken = { input: 2.5, output: 10 };
/** Share of a day's work in each hour, from midnight on. Schedules run at night. */
const hours = [1, 0, 0, 0, 1, 9, 4, 6, 10, 12, 12, 10, 6, 9, 12, 11, 9, 6, 3, 8, 2, 1, 1, 1];
/** Share of a week's work on each day, from Sunday on. */
const weekdays = [0.05, 1, 1.1, 1, 1, 0.9, 0.15];

/** One generated run. */
export interface Run {
  id: string;
  n: number;
  routine: Routine;
  workflowId: string;
  agentId: string;
  scheduleId: string | null;
  status: 'completed' | 'failed' | 'cancelled';
  queued: Date;
  started: Date;
  finished: Date;
  ms: number;
  stepsPassed: number;
  error: { code: string | null; text: string | null };
  claims: Outcome[];
  tokens: { input: number; output: number };
}

type Outcome = 'eob_uploaded' | 'no_eob_found' | 'failed';

/**
 * Generates runs in random order of time. Runs that would still be running are left out, so there may be fewer than
 * `count`.
 */
export function generateRuns(month: Month, subjects: Subjects, count: number): Run[] {
  const runs = Array.from({ length: count }, (_, n) => generateRun(month, subjects, n));
  return runs.filter(({ finished }) => finished < month.until);
}

/** The rows of the runs by table, in the order in which they are inserted. */
export function buildRunRows({ organizationId }: Pick<Month, 'organizationId'>, runs: Run[]): Record<string, Row[]> {
  const worked = runs.filter(({ claims }) => claims.length > 0);
  const rows = {
    job: runs.map(buildJobRow),
    job_step: runs.flatMap(buildStepRows),
    claim_outcome: runs.flatMap(buildOutcomeRows),
    ai_usage: runs.filter(({ routine }) => routine.usesModel).map(buildModelUseRow),
    run_cost: runs.map(buildCostRow),
    run_cost_component: runs.flatMap(buildComponentRows),
    usage_event: runs.flatMap(buildUsageRows),
    schedule_run: runs.filter(({ scheduleId }) => scheduleId !== null).map(buildTickRow),
    pilot_batch: worked.map(buildSummaryRow),
    pilot_claim_result: worked.flatMap(buildResultRows),
    pilot_roi_metric: worked.map(({ id, ms, claims }) => ({
      pilot_batch_id: id,
      processing_micros: claims.map(() => Math.round((ms * 1000) / claims.length)),
    })),
  };
  for (const row of Object.values<Row[]>(rows).flat()) row['organization_id'] = organizationId;
  return rows;
}

function generateRun(month: Month, subjects: Subjects, n: number): Run {
  const { random } = month;
  const routineIndex = chooseRoutine(random());
  const routine = routines[routineIndex]!;
  const queued = chooseRunTime(month);
  const workflowId = subjects.workflow[routineIndex]!.id;
  const planned = subjects.schedule.find(({ workflow_id }) => workflow_id === workflowId);
  const isPlanned = planned && queued.getUTCHours() === Number(planned.cron_expression.split(' ')[1]);
  const agentId = isPlanned ? planned.agent_id : subjects.agent[Math.floor(random() * subjects.agent.length)]!.id;
  const started = new Date(queued.getTime() + 1000 + random() ** 4 * 5 * minuteMs);
  const status = random() < routine.failing ? 'failed' : random() < 0.01 ? 'cancelled' : 'completed';
  const length = (0.5 + random() + random() ** 3 * 3) * (status === 'completed' ? 1 : 0.6);
  const ms = Math.round(routine.minutes * minuteMs * length);
  const [code, text] = routine.errors[Math.floor(random() ** 2 * routine.errors.length)]!;
  return {
    id: v7({ msecs: queued.getTime() }),
    n: 40_000 + n,
    routine,
    workflowId,
    agentId,
    scheduleId: isPlanned ? planned.id : null,
    status,
    queued,
    started,
    finished: new Date(started.getTime() + ms),
    ms,
    stepsPassed: status === 'completed' ? routine.steps.length : Math.floor(random() * (routine.steps.length - 1)),
    error:
      status === 'failed'
        ? { code, text: text.replace('{n}', String(40_000 + n)) }
        : { code: null, text: status === 'cancelled' ? 'cancelled' : null },
    claims: generateClaims(routine, status, random),
    tokens: routine.usesModel
      ? { input: Math.round(9000 + random() * 20_000), output: Math.round(800 + random() * 2500) }
      : { input: 0, output: 0 },
  };
}

function chooseRoutine(share: number): number {
  let left = share;
  const index = routines.findIndex((routine) => (left -= routine.share) < 0);
  return index < 0 ? 0 : index;
}

/** Chooses a random minute of the month, weighted by the hour and the day of the week. */
function chooseRunTime({ until, days, random }: Month): Date {
  for (;;) {
    const at = new Date(until.getTime() - random() * days * dayMs);
    const weight = (weekdays[at.getUTCDay()]! / 1.1) * (hours[at.getUTCHours()]! / 12);
    if (random() < weight) return at;
  }
}

function generateClaims({ claims }: Routine, status: Run['status'], random: () => number): Outcome[] {
  if (claims === 0 || status === 'cancelled') return [];
  const count = Math.max(1, Math.round(claims * (0.4 + random() * 0.8)));
  return Array.from({ length: count }, (_, at): Outcome => {
    if (status === 'failed' && at >= count / 2) return 'failed';
    return random() < 0.88 ? 'eob_uploaded' : random() < 0.8 ? 'no_eob_found' : 'failed';
  });
}

function buildJobRow(run: Run): Row {
  const { id, started, finished, error } = run;
  return {
    id,
    workflow_id: run.workflowId,
    workflow_revision: 1,
    agent_id: run.agentId,
    schedule_id: run.scheduleId,
    status: run.status,
    variables: generateVariables(run.routine, run.n, () => (run.n % 97) / 97),
    queued_at: run.queued,
    not_before: run.queued,
    dispatched_at: started,
    started_at: started,
    finished_at: finished,
    billed_at: finished,
    last_heartbeat_at: finished,
    last_progress_at: finished,
    percent: Math.round((100 * run.stepsPassed) / run.routine.steps.length),
    ...countClaims(run),
    total_cost_micros: computeMachineCost(run) + getModelIdentity(run),
    error: error.text,
    error_code: error.code,
  };
}

function countClaims({ claims }: Run) {
  const countOutcome = (outcome: Outcome) => claims.filter((each) => each === outcome).length;
  return {
    claims_attempted: claims.length,
    claims_eob_uploaded: countOutcome('eob_uploaded'),
    claims_no_eob_found: countOutcome('no_eob_found'),
    claims_failed: countOutcome('failed'),
  };
}

function buildStepRows({ id, routine, status, started, ms, stepsPassed, error }: Run): Row[] {
  const { steps } = routine;
  const computeStepTime = (order: number) => new Date(started.getTime() + (ms * order) / steps.length);
  return steps.slice(0, stepsPassed + 1).map((name, order) => {
    const hasPassed = order < stepsPassed;
    return {
      job_id: id,
      step_order: order + 1,
      name,
      status: hasPassed ? 'passed' : status === 'failed' ? 'failed' : 'skipped',
      state_key: 1,
      started_at: computeStepTime(order),
      finished_at: computeStepTime(order + 1),
      error: hasPassed ? null : error.text,
    };
  });
}

function buildOutcomeRows({ id, n, claims, finished }: Run): Row[] {
  return claims.map((outcome, at) => ({
    job_id: id,
    claim_id: `C-${n}-${at + 1}`,
    outcome,
    first_at: finished,
    updated_at: finished,
  }));
}

const computeMachineCost = ({ ms }: Run) => Math.round((ms / hourMs) * computeMicrosPerHour);
const computeInputCost = ({ tokens }: Run) => Math.round(tokens.input * modelMicrosPerToken.input);
const computeOutputCost = ({ tokens }: Run) => Math.round(tokens.output * modelMicrosPerToken.output);
const getModelIdentity = (run: Run) => computeInputCost(run) + computeOutputCost(run);
const model = { provider: 'openai', model: 'gpt-4o' };

function buildModelUseRow(run: Run): Row {
  return {
    job_id: run.id,
    step_order: 3,
    seq: 1,
    ...model,
    input_tokens: run.tokens.input,
    output_tokens: run.tokens.output,
    cost_micros: getModelIdentity(run),
    reported_at: run.finished,
  };
}

function buildCostRow(run: Run): Row {
  return {
    job_id: run.id,
    computed_at: run.finished,
    compute_micros_per_hour: computeMicrosPerHour,
    compute_micros: computeMachineCost(run),
    ai_micros: getModelIdentity(run),
    reported_micros: 0,
    total_micros: computeMachineCost(run) + getModelIdentity(run),
    duration_ms: run.ms,
  };
}

function buildComponentRows(run: Run): Row[] {
  const { id, workflowId, agentId, scheduleId, finished, ms, tokens } = run;
  const owner = {
    job_id: id,
    workflow_id: workflowId,
    agent_id: agentId,
    schedule_id: scheduleId,
    finished_at: finished,
  };
  const compute = {
    ...owner,
    position: 0,
    kind: 'compute',
    provider: null,
    model: null,
    quantity: ms / hourMs,
    unit: 'hour',
    unit_price_usd: computeMicrosPerHour / 1e6,
    amount_micros: computeMachineCost(run),
  };
  if (!run.routine.usesModel) return [compute];
  const buildTokenComponent = (position: number, direction: 'input' | 'output', amount: number) => ({
    ...owner,
    ...model,
    position,
    kind: 'ai',
    quantity: tokens[direction],
    unit: `${direction}_token`,
    unit_price_usd: modelMicrosPerToken[direction] / 1e6,
    amount_micros: amount,
  });
  return [
    compute,
    buildTokenComponent(1, 'input', computeInputCost(run)),
    buildTokenComponent(2, 'output', computeOutputCost(run)),
  ];
}

function buildUsageRows(run: Run): Row[] {
  const { id, finished, status, ms } = run;
  const month = new Date(Date.UTC(finished.getUTCFullYear(), finished.getUTCMonth(), 1));
  const event = { job_id: id, month, at: finished, counted: true };
  const spent = computeMachineCost(run) + getModelIdentity(run);
  return [
    { ...event, kind: 'run', outcome: status, run_ms: ms, spend_micros: 0 },
    { ...event, kind: 'spend', outcome: null, run_ms: 0, spend_micros: spent },
  ];
}

function buildTickRow({ id, scheduleId, queued }: Run): Row {
  return {
    schedule_id: scheduleId,
    nominal_at: queued,
    kind: 'tick',
    fired_at: queued,
    outcome: 'launched',
    job_id: id,
  };
}

function buildResultRows({ id, n, ms, claims }: Run): Row[] {
  return claims.map((outcome, at) => ({
    id: v7(),
    pilot_batch_id: id,
    claim_index: at,
    claim_id: `C-${n}-${at + 1}`,
    outcome,
    processing_micros: Math.round((ms * 1000) / claims.length),
  }));
}

function buildSummaryRow(run: Run): Row {
  return {
    id: run.id,
    batch_id: `demo-${run.n}`,
    job_id: run.id,
    named_job_id: run.id,
    workflow_id: run.workflowId,
    started_at: run.started,
    finished_at: run.finished,
    occurred_at: run.started,
    ...countClaims(run),
    processing_micros: run.ms * 1000,
  };
}
