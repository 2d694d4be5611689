import type { ScriptErrorCode, StepStatus } from '@muster/contracts';
import { isObject, toStringOrEmpty } from '../protocol/command';
import { cutMessage } from './output-lines';
import { toLogLevel, type OpenStep, type RunState } from './run-state';
import type { Item } from '../spool/spool-item';

const claimsPerRequest = 100;
/** The year 10000, in seconds since 1970. The service accepts no later time. */
const endOfTime = 253_402_300_800;

/** Key of the result in its event and in result.json. */
export const resultKey = 'of';

export interface ParsedEvents {
  items: Item[];
  state: RunState;
  /** The result that the script reported; absent if it reported none. */
  result?: Record<typeof resultKey, unknown>;
  invalid: string[];
}

/**
 * Converts events, which are parsed and redacted lines of events.jsonl, to items for the service. The function is pure:
 * a repetition gives items with the same sequence numbers.
 */
export function parseEvents(events: unknown[], before: RunState, now: number): ParsedEvents {
  const parsed: ParsedEvents = { items: [], invalid: [], state: { ...before, openSteps: { ...before.openSteps } } };
  let progressed = false;
  for (const event of events) {
    if (!isObject(event)) parsed.invalid.push('not an object');
    else if (event.type === 'progress') progressed = parseProgress(parsed, event);
    else parseEvent(parsed, event, now);
  }
  // A script may report progress for every row; only the last progress of a read is sent.
  if (progressed) parsed.items.push(toProgressItem(parsed.state));
  return parsed;
}

export function toProgressItem(state: RunState): Item {
  const { percent } = state.progress;
  const currentStep = state.progress.currentStep ?? Object.values(state.openSteps).at(-1)?.name;
  state.callbackSeq += 1;
  const progress = { ...(percent === undefined ? {} : { percent }), ...(currentStep ? { currentStep } : {}) };
  return { kind: 'webhook', body: { status: 'running', progress, seq: state.callbackSeq } };
}

/** Closes the steps that the script left open when it ended, and returns their reports. */
export function closeOpenSteps(state: RunState, completed: boolean, now: number): Item[] {
  const open = Object.values(state.openSteps).sort((a, b) => a.order - b.order);
  state.openSteps = {};
  const error = completed ? undefined : 'the run ended during this step';
  return open.map((step) =>
    toStepItem(state, step, { status: completed ? 'passed' : 'failed', finishedAt: now, error }),
  );
}

function parseEvent(parsed: ParsedEvents, event: Record<string, unknown>, now: number): void {
  const { state, items } = parsed;
  const isTime = typeof event.at === 'number' && event.at >= 0 && event.at < endOfTime;
  const at = isTime ? (event.at as number) * 1000 : now;
  switch (event.type) {
    case 'step_started': {
      const stepId = toStringOrEmpty(event.stepId);
      const step = openNewStep(state, toStringOrEmpty(event.name) || 'step', at, stepId);
      state.openSteps[toStringOrEmpty(event.key)] = step;
      items.push(toStepItem(state, step, { status: 'running', metadata: event.metadata }));
      return;
    }
    case 'step_finished': {
      const step = state.openSteps[toStringOrEmpty(event.key)];
      if (!step) return void parsed.invalid.push('a step ended that was not started');
      delete state.openSteps[toStringOrEmpty(event.key)];
      const status = event.status === 'failed' ? 'failed' : 'passed';
      const error = toStringOrEmpty(event.error) || undefined;
      items.push(toStepItem(state, step, { status, finishedAt: at, error, metadata: event.metadata }));
      return;
    }
    case 'ai_usage': {
      const open = state.openSteps[toStringOrEmpty(event.key)];
      const step = open ?? openNewStep(state, 'AI usage', at);
      const ended: StepChange = open ? { status: 'running' } : { status: 'passed', finishedAt: at };
      items.push(toStepItem(state, step, { ...ended, usage: event.usage }));
      return;
    }
    case 'log': {
      state.logSeq += 1;
      const entry = {
        level: toLogLevel(event.level),
        message: cutMessage(toStringOrEmpty(event.message)),
        seq: state.logSeq,
      };
      items.push({ kind: 'log', entry: { ...entry, timestamp: Math.floor(at / 1000) } });
      return;
    }
    case 'claim': {
      if (!isObject(event.claim)) return void parsed.invalid.push('a claim must be an object');
      const last = items.at(-1);
      if (last?.kind === 'claims' && last.claims.length < claimsPerRequest) last.claims.push(event.claim);
      else items.push({ kind: 'claims', claims: [event.claim] });
      return;
    }
    case 'account_failed': {
      const [pool, reason, message] = [event.pool, event.reason, event.message].map(toStringOrEmpty);
      if (!pool || !reason) return void parsed.invalid.push('a failed account must have a pool and a reason');
      items.push({ kind: 'account', pool, body: { reason, ...(message ? { message } : {}) } });
      return;
    }
    case 'upload': {
      const [file, filename] = [toStringOrEmpty(event.file), toStringOrEmpty(event.filename)];
      if (!/^[0-9a-f]{32}$/.test(file) || !filename) return void parsed.invalid.push('an upload must name its file');
      items.push({ kind: 'upload', file, filename, screenshot: event.screenshot === true });
      return;
    }
    case 'result':
      if (isObject(event.value)) parsed.result = { [resultKey]: event.value[resultKey] };
      return;
    case 'error_code': {
      const code = toStringOrEmpty(event.code);
      if (!/^[a-z][a-z0-9_]{0,63}$/.test(code))
        return void parsed.invalid.push('an error code must have 1 to 64 letters, digits and underscores');
      state.errorCode = code as ScriptErrorCode;
      return;
    }
    case 'run_summary':
      if (isObject(event.body)) items.push({ kind: 'summary', body: completeSummary(event.body, state.jobId) });
      return;
    default:
      parsed.invalid.push(`unknown type ${JSON.stringify(event.type)}`);
  }
}

function parseProgress({ state }: ParsedEvents, { percent, currentStep }: Record<string, unknown>): boolean {
  state.progress = {
    ...(typeof percent === 'number' ? { percent: Math.min(100, Math.max(0, percent)) } : {}),
    ...(typeof currentStep === 'string' ? { currentStep: currentStep.slice(0, 500) } : {}),
  };
  return true;
}

/** Completes a summary of the script. If it names no job or no batch, the id of the run's job is used. */
function completeSummary(body: Record<string, unknown>, jobId: string): Record<string, unknown> {
  const reported = isObject(body.batchSummary) ? body.batchSummary : {};
  return { ...body, batchSummary: { jobId, batchId: jobId, ...reported } };
}

function openNewStep(state: RunState, name: string, at: number, stepId?: string): OpenStep {
  state.stepOrder += 1;
  const startedAt = new Date(at).toISOString();
  return { order: state.stepOrder, name: name.slice(0, 500), startedAt, ...(stepId ? { stepId } : {}) };
}

/** Reduces metadata that is too large to its short entries, because the service would refuse the whole step. */
function limitMetadataSize(metadata: Record<string, unknown>): Record<string, unknown> {
  if (Buffer.byteLength(JSON.stringify(metadata)) <= 60_000 && Object.keys(metadata).length <= 200) return metadata;
  const short = Object.entries(metadata).filter(([key, value]) => `${key}${JSON.stringify(value)}`.length <= 500);
  return { ...Object.fromEntries(short.slice(0, 50)), cut: true };
}

interface StepChange {
  status: StepStatus;
  finishedAt?: number;
  error?: string;
  metadata?: unknown;
  usage?: unknown;
}

function toStepItem(state: RunState, step: OpenStep, change: StepChange): Item {
  state.callbackSeq += 1;
  const { order, stepId, name, startedAt } = step;
  const { status, finishedAt, error, metadata, usage } = change;
  return {
    kind: 'step',
    body: {
      stepOrder: order,
      stepId: stepId || undefined,
      name,
      status,
      seq: state.callbackSeq,
      startedAt,
      finishedAt: finishedAt === undefined ? undefined : new Date(finishedAt).toISOString(),
      error: error ? cutMessage(error) : undefined,
      metadata: isObject(metadata) ? limitMetadataSize(metadata) : undefined,
      usage,
    },
  };
}
