import cluster from 'node:cluster';
import { ServiceLog } from './service-log';
import { ServiceProcess } from './service-process';

export interface ServiceOptions {
  main: string;
  /** Number of processes that share the port. Each runs the whole service. */
  processes: number;
  env: NodeJS.ProcessEnv;
  logFile: string;
  say: (line: string) => void;
}

/**
 * The service as one or several processes behind one port. A process that dies is restarted while the others keep
 * running.
 */
export class Service {
  private readonly processes: ServiceProcess[];

  constructor({ main, processes, env, logFile, say }: ServiceOptions) {
    // A single process accepts its connections itself. Several get them in turns (round robin): otherwise the process
    // that wakes up first would accept most of them.
    cluster.schedulingPolicy = processes === 1 ? cluster.SCHED_NONE : cluster.SCHED_RR;
    cluster.setupPrimary({ exec: main, args: [], execArgv: ['--enable-source-maps'], silent: true });
    const log = new ServiceLog(logFile, say);
    this.processes = Array.from({ length: processes }, (_, at) => {
      const name = processes === 1 ? 'the service' : `process ${at + 1} of the service`;
      return new ServiceProcess({ name, env: { ...env, ...buildInternalPortEnv(env, at) }, log, say });
    });
  }

  /** Starts all processes. Resolves with the ports of their metrics when all of them listen. */
  async start(): Promise<{ internalPorts: number[] }> {
    await Promise.all(this.processes.map((one) => one.start()));
    return { internalPorts: this.processes.map((one) => one.internalPort) };
  }

  async stop(timeoutMs: number): Promise<void> {
    await Promise.all(this.processes.map((one) => one.stop(timeoutMs)));
  }
}

/** A configured port is used by the first process; the others use the next ports. */
function buildInternalPortEnv({ INTERNAL_PORT: first }: NodeJS.ProcessEnv, at: number): NodeJS.ProcessEnv {
  return Number(first) > 0 ? { INTERNAL_PORT: String(Number(first) + at) } : {};
}
