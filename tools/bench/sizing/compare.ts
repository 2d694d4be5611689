import { writeFile } from 'node:fs/promises';
import { type ServiceApp, serviceApps } from '@muster/contracts';
import { computeDemand } from '../../admin/size/demand';
import { type Part, parts, type SizingFigures } from '../../admin/size/figures';
import type { PhaseLoad, PhaseResult } from './phase';

/** Largest difference between a computed and a measured figure, as a share of the measured one. */
export const tolerance = 0.3;
export const heartbeatSeconds = 30;
const secondsPerDay = 86_400;

/** A resource that a simulation used, and what `muster-admin size` computes for its load. */
export interface Comparison {
  simulation: string;
  name: string;
  computed: number;
  measured: number;
  /** Difference as a share of the measured value. */
  off: number;
  isMet: boolean;
}

/** Compares a simulation with the demand that is computed for its load. */
export function compareSimulation(load: PhaseLoad, phase: PhaseResult, figures: SizingFigures): Comparison[] {
  const duration = getSeconds(phase);
  const days = duration / secondsPerDay;
  const size = {
    // The phase also waits for its last runs, so its rates are lower than those at which it sent.
    agents: (phase.heartbeats / duration) * heartbeatSeconds,
    runsPerDay: phase.runs / days,
    stepsPerRun: load.steps,
    logLinesPerRun: load.lines,
    retentionDays: days,
    peak: 1,
  };
  const processes = Object.fromEntries(serviceApps.map((app) => [app, 1])) as Record<ServiceApp, number>;
  const { after, before } = phase;
  const demand = computeDemand(size, processes, after.connections, figures);
  const measured = mapParts((part) => getCpuOfPart(phase, part) / 1000 / duration);
  const sumOfApps = (values: Record<Part, number>) => serviceApps.reduce((sum, app) => sum + values[app], 0);
  const { runs, steps, logLines } = demand.diskBytes;
  const simulation = `${load.agents} agents, ${load.runsPerSecond} runs/s with ${load.steps} steps and ${load.lines} log lines`;
  const compareFigure = (name: string, computed: number, found: number): Comparison => {
    const off = Math.abs(computed - found) / found;
    return { simulation, name, computed, measured: found, off, isMet: off <= tolerance };
  };
  return [
    compareFigure('cores of the apps', sumOfApps(demand.cores), sumOfApps(measured)),
    compareFigure('cores of Postgres', demand.cores.postgres, measured.postgres),
    compareFigure('cores of Redis', demand.cores.redis, measured.redis),
    compareFigure(
      'MiB added on disk',
      toMebibytes(runs + steps + logLines),
      toMebibytes(after.diskBytes.total - before.diskBytes.total),
    ),
    compareFigure('MiB of the apps', toMebibytes(demand.memoryBytes.apps), toMebibytes(sumOfApps(after.memoryBytes))),
    compareFigure(
      'MiB of Postgres',
      toMebibytes(demand.memoryBytes.postgres),
      toMebibytes(after.memoryBytes.postgres + after.connections * after.connectionBytes),
    ),
    compareFigure('MiB of Redis', toMebibytes(demand.memoryBytes.redis), toMebibytes(after.memoryBytes.redis)),
  ];
}

/**
 * Stores the figures if they predict the simulations. Otherwise leaves the file unchanged and returns the reason, which
 * names each value that is off.
 */
export async function storeFigures(
  file: string,
  figures: SizingFigures,
  comparisons: readonly Comparison[],
): Promise<string | null> {
  const missed = comparisons.filter(({ isMet }) => !isMet);
  if (missed.length === 0) {
    await writeFile(file, `${JSON.stringify(figures, null, 2)}\n`);
    return null;
  }
  const list = missed.map(({ name, simulation, off }) => `${name} at ${simulation} by ${formatPercent(off)} %`);
  return (
    `The computed figures are off by more than ${formatPercent(tolerance)} %: ${list.join('; ')}. ${file} was not ` +
    'changed. Run the benchmark again on an idle machine; if the difference remains, correct tools/admin/size/demand.ts.'
  );
}

export function formatComparison({ name, computed, measured, off, isMet }: Comparison): string {
  const values = [computed, measured].map((value) => value.toFixed(3).padStart(10)).join('');
  return `  ${name.padEnd(20)}${values}  off by ${formatPercent(off)} %, target ${formatPercent(tolerance)}: ${isMet ? 'met' : 'not met'}`;
}

export function getCpuOfPart({ before, after }: PhaseResult, part: Part): number {
  return after.cpuMs[part] - before.cpuMs[part];
}

export function getSeconds({ before, after }: PhaseResult): number {
  return (after.atMs - before.atMs) / 1000;
}

export function toMebibytes(bytes: number): number {
  return bytes / 1024 ** 2;
}

export function mapParts(value: (part: Part) => number): Record<Part, number> {
  return Object.fromEntries(parts.map((part) => [part, value(part)])) as Record<Part, number>;
}

function formatPercent(share: number): string {
  return (share * 100).toFixed(0);
}
