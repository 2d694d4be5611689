import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from './environment';
import { createUsageError } from './failure';

/** The credentials of the user at one service. */
export interface Login {
  name: string;
  url: string;
  apiKey?: string;
  /** Whether the API key was created for this machine by a login in a browser. */
  byBrowser?: true;
  session?: string;
  email?: string;
  organization?: string;
}

interface StoredLogins {
  current: string | null;
  contexts: Record<string, Omit<Login, 'name'>>;
}

/** The logins of this user, in one file that other users cannot read. */
export class Logins {
  readonly file: string;

  constructor(private readonly environment: Environment) {
    this.file = join(environment.configFolder, 'logins.json');
  }

  /** Returns the login with this name, else the login of the environment, else the current login. */
  findLogin(name: string | undefined): Login {
    const { url, apiKey, context } = this.environment;
    if (!name && url && apiKey) return { name: 'environment', url, apiKey };
    const stored = this.readLoginsFile();
    const wanted = name ?? context ?? stored.current ?? undefined;
    if (wanted === undefined)
      throw createUsageError('You are not signed in.', 'To sign in, run muster login --url https://…');
    const found = Object.hasOwn(stored.contexts, wanted) ? stored.contexts[wanted] : undefined;
    if (!found)
      throw createUsageError(`There is no login named ${wanted}.`, 'To list the logins, run muster contexts.');
    return { name: wanted, ...found };
  }

  listLogins(): (Login & { current: boolean })[] {
    const { current, contexts } = this.readLoginsFile();
    return Object.entries(contexts).map(([name, login]) => ({ name, ...login, current: name === current }));
  }

  saveLogin({ name, ...login }: Login): void {
    const stored = this.readLoginsFile();
    this.writeLoginsFile({ current: name, contexts: { ...stored.contexts, [name]: login } });
  }

  selectLogin(name: string): void {
    const stored = this.readLoginsFile();
    if (!Object.hasOwn(stored.contexts, name))
      throw createUsageError(`There is no login named ${name}.`, 'To list the logins, run muster contexts.');
    this.writeLoginsFile({ ...stored, current: name });
  }

  deleteStoredLogin(name: string): void {
    const { current, contexts } = this.readLoginsFile();
    const { [name]: _gone, ...rest } = contexts;
    this.writeLoginsFile({ current: current === name ? (Object.keys(rest)[0] ?? null) : current, contexts: rest });
  }

  private readLoginsFile(): StoredLogins {
    let text: string;
    try {
      text = readFileSync(this.file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: null, contexts: {} };
      throw error;
    }
    const stored = parseLogins(text);
    if (!stored) throw createUsageError(`${this.file} is not a valid logins file.`, 'Delete it and sign in again.');
    return stored;
  }

  /** Replaces the file of logins atomically. Other users cannot read the file, not even while it is being written. */
  private writeLoginsFile(stored: StoredLogins): void {
    mkdirSync(this.environment.configFolder, { recursive: true, mode: 0o700 });
    const draft = `${this.file}.${process.pid}`;
    try {
      writeFileSync(draft, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600 });
      chmodSync(draft, 0o600);
      renameSync(draft, this.file);
    } catch (error) {
      // The temporary file can already contain a secret, so it is deleted after a failed write.
      rmSync(draft, { force: true });
      throw error;
    }
  }
}

function parseLogins(text: string): StoredLogins | undefined {
  try {
    const { current, contexts } = JSON.parse(text) as Partial<StoredLogins>;
    if (typeof contexts !== 'object' || contexts === null || Array.isArray(contexts)) return undefined;
    return { current: typeof current === 'string' ? current : null, contexts };
  } catch {
    return undefined;
  }
}
