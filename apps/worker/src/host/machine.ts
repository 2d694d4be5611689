import { statfs } from 'node:fs/promises';
import { cpus, freemem, hostname, loadavg, networkInterfaces, totalmem } from 'node:os';

export const workerVersion = '0.1.0';

export function getMachineName(): string {
  return hostname();
}

export function getPlatformName(): string {
  return `${process.platform}-${process.arch}`;
}

/** Returns the first IPv4 address that other hosts may reach. */
export function findMachineIp(): string | undefined {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
}

/** Measures the load of the machine. The load of the processor is its average since the previous call. */
export class MachineMetrics {
  private before = readCpuTimes();

  constructor(private readonly folder: string) {}

  async readMetrics(): Promise<Record<string, number>> {
    const now = readCpuTimes();
    const total = now.total - this.before.total;
    const cpuPercent = total > 0 ? (100 * (total - (now.idle - this.before.idle))) / total : 0;
    this.before = now;
    const disk = await statfs(this.folder).catch(() => null);
    return {
      cpuPercent: Math.round(Math.min(100, Math.max(0, cpuPercent)) * 10) / 10,
      memoryUsedBytes: totalmem() - freemem(),
      memoryTotalBytes: totalmem(),
      ...(disk ? { diskFreeBytes: disk.bavail * disk.bsize } : {}),
      load1: Math.round(loadavg()[0]! * 100) / 100,
    };
  }
}

function readCpuTimes(): { total: number; idle: number } {
  const times = cpus().map((cpu) => cpu.times);
  const total = times.reduce((sum, time) => sum + time.user + time.nice + time.sys + time.irq + time.idle, 0);
  return { total, idle: times.reduce((sum, time) => sum + time.idle, 0) };
}
