import type { LogLevel, ScriptErrorCode } from '@muster/contracts';
import type { Origin } from '../protocol/origin';

export interface FilePosition {
  offset: number;
  /** Whether the position is within an overlong line that is being skipped. */
  skipping: boolean;
}

export interface OpenStep {
  order: number;
  name: string;
  stepId?: string;
  startedAt: string;
}

/** Progress of reading a run's output. It is saved in the same record as the items that were read. */
export interface RunState {
  jobId: string;
  runRoot: string;
  /** Headers of the request that caused the run; its reports carry them. Absent in the state of an older worker. */
  origin?: Origin;
  logSeq: number;
  callbackSeq: number;
  stepOrder: number;
  openSteps: Record<string, OpenStep>;
  progress: { percent?: number; currentStep?: string };
  /** Error code that the script set for its failure. */
  errorCode?: ScriptErrorCode;
  stdout: FilePosition;
  stderr: FilePosition;
  events: FilePosition;
  ended: boolean;
}

export function createFirstState(jobId: string, runRoot: string, origin: Origin = {}): RunState {
  const beginning = { offset: 0, skipping: false };
  return {
    jobId,
    runRoot,
    origin,
    logSeq: 0,
    callbackSeq: 0,
    stepOrder: 0,
    openSteps: {},
    progress: {},
    stdout: beginning,
    stderr: beginning,
    events: beginning,
    ended: false,
  };
}

const levels: Record<string, LogLevel> = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  notice: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  critical: 'error',
  fatal: 'error',
};

export function toLogLevel(name: unknown): LogLevel {
  return levels[String(name).toLowerCase()] ?? 'info';
}
