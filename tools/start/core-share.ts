import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/**
 * Number of processes for a number of cores: one for every two cores, from 1 to 4. A run costs Postgres as much
 * processor time as the service, so on two cores a second process would only compete with the first one and with
 * Postgres.
 */
export function computeProcessCount(cores: number): number {
  return Math.min(4, Math.max(1, Math.floor(cores / 2)));
}

/** Number of usable cores. A container's CPU quota may be less than the cores of the machine. */
export function readUsableCores(file = '/sys/fs/cgroup/cpu.max'): number {
  const [quota, period] = readContents(file).trim().split(' ').map(Number);
  const share = quota && period ? quota / period : Infinity;
  return Math.min(availableParallelism(), share);
}

/** Describes the number of processes and the cores that they share, for the start's output. */
export function describeProcesses(processes: number, usable: number): string {
  const cores = `${Math.round(usable * 100) / 100} ${usable === 1 ? 'core' : 'cores'}`;
  return processes === 1
    ? `1 for everything (${cores}; --processes N for more)`
    : `${processes} behind one port, each running the whole service (${cores}; --processes)`;
}

function readContents(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
