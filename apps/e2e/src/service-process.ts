import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

export const root = join(__dirname, '../../..');

/** A compiled app as a separate process. */
export class ServiceProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
    /** URL of the app's probes and metrics. */
    readonly internalUrl: string,
    private readonly chunks: string[],
  ) {}

  /** `from` is the folder of the release whose app is started. */
  static async start(app: string, env: NodeJS.ProcessEnv, from = root): Promise<ServiceProcess> {
    const child = spawn(process.execPath, [join(from, `dist/apps/${app}/src/main.js`)], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const chunks: string[] = [];
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
    const { url, internalPort } = await new Promise<{ url: string; internalPort: number }>((resolve, reject) => {
      child.once('message', resolve);
      child.once('exit', (code) => reject(new Error(`${app} ended with ${code}: ${chunks.join('')}`)));
    });
    const internalUrl = `http://127.0.0.1:${internalPort}`;
    return new ServiceProcess(child, url.replace('[::1]', '127.0.0.1'), internalUrl, chunks);
  }

  get pid(): number {
    return this.child.pid!;
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Output of the process so far. */
  get output(): string {
    return this.chunks.join('');
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (!this.alive) return this.child.exitCode;
    const ended = new Promise<number | null>((resolve) => this.child.once('exit', resolve));
    this.child.kill(signal);
    return ended;
  }
}
