import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceApps } from '@muster/contracts';

declare const EMBEDDED_SIZING: string | undefined;

export const parts = [...serviceApps, 'postgres', 'redis'] as const;
export type Part = (typeof parts)[number];

/** The kinds of work that make up a load. */
export const unitKinds = ['heartbeat', 'run', 'step', 'logBatch'] as const;
export type UnitKind = (typeof unitKinds)[number];

/** Costs that `npm run bench sizing` measures and stores in k8s/sizing.json. */
export interface SizingFigures {
  measuredOn: { date: string; version: string; cpu: string; cores: number; node: string; postgres: string };
  /** Processor time in milliseconds of one unit, and of one second of one process without work. */
  cpuMs: Record<UnitKind | 'idleSecond', Record<Part, number>>;
  /**
   * Sizes of the database without data and of each unit in it. The permanent bytes are those outside the timeline:
   * retention does not delete them.
   */
  diskBytes: {
    empty: number;
    writeAheadLog: number;
    run: number;
    step: number;
    logLine: number;
    permanentOfRun: number;
    permanentOfStep: number;
  };
  /** Memory of one process of each app, and of the servers: their fixed part and what they need for each unit. */
  memoryBytes: Record<Part, number> & { connection: number; agentInRedis: number };
}

/** Text of k8s/sizing.json. The one-file build embeds it; otherwise it is read from the repository. */
export function readFigures(): SizingFigures {
  return JSON.parse(typeof EMBEDDED_SIZING === 'string' ? EMBEDDED_SIZING : readFileSync(getFiguresFile(), 'utf8'));
}

/** Path of k8s/sizing.json, from the source and from the build. */
export function getFiguresFile(): string {
  const folders = ['../../..', '../../../..'].map((up) => join(__dirname, up));
  return join(
    folders.find((folder) => existsSync(join(folder, 'package.json')))!,
    'k8s/sizing.json',
  );
}
