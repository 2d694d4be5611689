import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { StartError } from './options';
import type { BeforeService, DoneBeforeService } from './before-service';

interface Facts {
  migrated: string[];
  hasOrganization: boolean;
  /** Comes after the service was started: nothing waits for it. */
  warning: Promise<string | null>;
}

/** The process that prepares the database; it loads while there is none yet. */
export class Preparation {
  private readonly child: ChildProcess;

  constructor(env: NodeJS.ProcessEnv) {
    this.child = fork(join(__dirname, 'before-service.js'), { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  }

  run(given: BeforeService, say: (line: string) => void): Promise<Facts> {
    const { child } = this;
    let warn: (warning: string | null) => void = () => undefined;
    const warning = new Promise<string | null>((resolve) => (warn = resolve));
    return new Promise((resolve, reject) => {
      child.on('message', (done: DoneBeforeService) => {
        if ('progress' in done) say(done.progress);
        else if ('sorry' in done) reject(new StartError(done.sorry));
        else if ('fault' in done) reject(new Error(done.fault));
        else if ('warning' in done) warn(done.warning);
        else resolve({ ...done, warning });
      });
      child.once('exit', (code, signal) => {
        warn(null);
        reject(new Error(`the database could not be prepared (${signal ?? `code ${code}`})`));
      });
      child.send(given);
    });
  }

  end(): void {
    this.child.kill('SIGKILL');
  }
}
