import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { StartError } from './options';
import type { BeforeService, PreparationMessage } from './before-service';

interface PreparedDatabase {
  migrated: string[];
  hasOrganization: boolean;
  /** Warning for the user, or null. Resolved after the service was started; the start does not wait for it. */
  warning: Promise<string | null>;
}

/** The process that prepares the database. It loads its modules before the database runs. */
export class Preparation {
  private readonly child: ChildProcess;

  constructor(env: NodeJS.ProcessEnv) {
    this.child = fork(join(__dirname, 'before-service.js'), { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  }

  runPreparation(options: BeforeService, say: (line: string) => void): Promise<PreparedDatabase> {
    const { child } = this;
    let warnOfDelay: (warning: string | null) => void = () => undefined;
    const warning = new Promise<string | null>((resolve) => (warnOfDelay = resolve));
    return new Promise((resolve, reject) => {
      child.on('message', (message: PreparationMessage) => {
        if ('progress' in message) say(message.progress);
        else if ('startError' in message) reject(new StartError(message.startError));
        else if ('fault' in message) reject(new Error(message.fault));
        else if ('warning' in message) warnOfDelay(message.warning);
        else resolve({ ...message, warning });
      });
      child.once('exit', (code, signal) => {
        warnOfDelay(null);
        reject(new Error(`the database could not be prepared (${signal ?? `code ${code}`})`));
      });
      child.send(options);
    });
  }

  endProcess(): void {
    this.child.kill('SIGKILL');
  }
}
