import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/**
 * A run costs Postgres as much time as it costs the service, so a process is worth its memory for every two cores: on two,
 * a second one only takes turns with the first and with Postgres.
 */
export function processesFor(cores: number): number {
  return Math.min(4, Math.max(1, Math.floor(cores / 2)));
}

/** The cores that we may use: a container's share may be less than what the machine has. */
export function usableCores(file = '/sys/fs/cgroup/cpu.max'): number {
  const [quota, period] = contentsOf(file).trim().split(' ').map(Number);
  const share = quota && period ? quota / period : Infinity;
  return Math.min(availableParallelism(), share);
}

/** For people: how many processes share the cores that the service may use. */
export function divided(processes: number, usable: number): string {
  const cores = `${Math.round(usable * 100) / 100} ${usable === 1 ? 'core' : 'cores'}`;
  return processes === 1
    ? `1 with the whole service (${cores}; --processes N for more)`
    : `${processes} behind one port, each with the whole service (${cores}; --processes)`;
}

function contentsOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
