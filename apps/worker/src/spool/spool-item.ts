import type { LogLevel } from '@muster/contracts';

export const lanes = ['events', 'logs', 'uploads'] as const;
export type Lane = (typeof lanes)[number];

interface LogEntry {
  level: LogLevel;
  message: string;
  /** Unix seconds. */
  timestamp: number;
  seq: number;
}

/** One thing that the service must hear of a run. What it holds is redacted already. */
export type Item =
  | { kind: 'log'; entry: LogEntry }
  | { kind: 'webhook'; body: Record<string, unknown> }
  | { kind: 'step'; body: Record<string, unknown> }
  | { kind: 'claims'; claims: Record<string, unknown>[] }
  | { kind: 'summary'; body: Record<string, unknown> }
  | { kind: 'upload'; file: string; filename: string; screenshot: boolean }
  /** Goes out when everything else of the run has. */
  | { kind: 'terminal'; body: Record<string, unknown> };

/** Each lane is delivered in order by itself: a large upload doesn't hold back the steps. */
export function laneOf(item: Item): Lane {
  if (item.kind === 'log') return 'logs';
  return item.kind === 'upload' ? 'uploads' : 'events';
}
