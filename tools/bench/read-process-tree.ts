import { readdir, readFile } from 'node:fs/promises';

/** Resources that a process and its finished, awaited children have used. */
export interface ProcessUse {
  pid: number;
  command: string;
  cpuMs: number;
  /** Private memory, plus the process's share of the memory that it shares with others. */
  pssBytes: number;
}

// The kernel counts in USER_HZ, which is 100 on all current Linux platforms.
const msPerTick = 10;

/** Returns a process and all its descendants. */
export async function readProcessTree(root: number): Promise<ProcessUse[]> {
  const all = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .map(readStat),
  );
  const known = all.filter((stat) => stat !== null);
  const wanted = new Set([root]);
  for (let before = 0; before < wanted.size;) {
    before = wanted.size;
    for (const { pid, parent } of known) if (wanted.has(parent)) wanted.add(pid);
  }
  return Promise.all(known.filter(({ pid }) => wanted.has(pid)).map(readUse));
}

/**
 * Processor time of a tree between two measurements. The time of a child that ended in between is part of its parent's,
 * if the parent waited for it.
 */
export function computeCpuBetween(before: ProcessUse[], after: ProcessUse[]): number {
  return sumCpu(after) - sumCpu(before);
}

function sumCpu(uses: ProcessUse[]): number {
  return uses.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}

interface Stat {
  pid: number;
  parent: number;
  cpuMs: number;
}

async function readStat(pid: number): Promise<Stat | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The process name before the last bracket may contain blanks and brackets.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (fields.length < 20) return null;
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { pid, parent: Number(fields[1]), cpuMs: ticks * msPerTick };
}

async function readUse({ pid, cpuMs }: Stat): Promise<ProcessUse> {
  const [command, memory] = await Promise.all([
    readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
    readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => ''),
  ]);
  const kib = Number(/^Pss:\s+(\d+) kB/m.exec(memory)?.[1] ?? 0);
  return { pid, command: command.replaceAll('\0', ' ').trim(), cpuMs, pssBytes: kib * 1024 };
}
