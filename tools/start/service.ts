import cluster from 'node:cluster';
import { ServiceLog } from './service-log';
import { ServiceProcess } from './service-process';

export interface ServiceOptions {
  main: string;
  /** How many processes answer on the one port; each is the whole service. */
  processes: number;
  env: NodeJS.ProcessEnv;
  logFile: string;
  say: (line: string) => void;
}

/** The service as so many processes behind one port. One that dies comes back while the others go on. */
export class Service {
  private readonly processes: ServiceProcess[];

  constructor({ main, processes, env, logFile, say }: ServiceOptions) {
    // One process takes its connections itself. Several are given them in turns: left to themselves, whoever woke up
    // first would take most of them.
    cluster.schedulingPolicy = processes === 1 ? cluster.SCHED_NONE : cluster.SCHED_RR;
    cluster.setupPrimary({ exec: main, args: [], execArgv: ['--enable-source-maps'], silent: true });
    const log = new ServiceLog(logFile, say);
    this.processes = Array.from({ length: processes }, (_, at) => {
      const name = processes === 1 ? 'the service' : `process ${at + 1} of the service`;
      return new ServiceProcess({ name, env: { ...env, ...internalPort(env, at) }, log, say });
    });
  }

  /** Answers when all of them listen, and where their metrics are. */
  async start(): Promise<{ internalPorts: number[] }> {
    await Promise.all(this.processes.map((one) => one.start()));
    return { internalPorts: this.processes.map((one) => one.internalPort) };
  }

  async stop(timeoutMs: number): Promise<void> {
    await Promise.all(this.processes.map((one) => one.stop(timeoutMs)));
  }
}

/** A port that is given is the first process's; the others have those behind it. */
function internalPort({ INTERNAL_PORT: first }: NodeJS.ProcessEnv, at: number): NodeJS.ProcessEnv {
  return Number(first) > 0 ? { INTERNAL_PORT: String(Number(first) + at) } : {};
}
