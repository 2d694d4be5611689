import type { LogLevel, ScriptErrorCode } from '@muster/contracts';
import type { Origin } from '../protocol/origin';

export interface FilePosition {
  offset: number;
  /** Within a line that was too long and is being skipped. */
  skipping: boolean;
}

export interface OpenStep {
  order: number;
  name: string;
  stepId?: string;
  startedAt: string;
}

/** Where the reading of a run's output stands. It is written together with what was read. */
export interface RunState {
  jobId: string;
  runRoot: string;
  /** Of the request that it comes from; its reports send it on. A state that an older worker left has none. */
  origin?: Origin;
  logSeq: number;
  callbackSeq: number;
  stepOrder: number;
  openSteps: Record<string, OpenStep>;
  progress: { percent?: number; currentStep?: string };
  /** The script's word for why it fails. */
  errorCode?: ScriptErrorCode;
  stdout: FilePosition;
  stderr: FilePosition;
  events: FilePosition;
  ended: boolean;
}

export function firstState(jobId: string, runRoot: string, origin: Origin = {}): RunState {
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

export function levelOf(name: unknown): LogLevel {
  return levels[String(name).toLowerCase()] ?? 'info';
}
