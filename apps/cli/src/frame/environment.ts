import { homedir } from 'node:os';
import { join } from 'node:path';

export interface Environment {
  /** MUSTER_URL with MUSTER_API_KEY: instead of a login, as in a pipeline. */
  url?: string;
  apiKey?: string;
  /** MUSTER_CONTEXT: which login, unless --context says. */
  context?: string;
  /** NO_COLOR, whatever it holds. */
  noColor: boolean;
  /** Where logins are kept: MUSTER_CONFIG_DIR, else `muster` below XDG_CONFIG_HOME or ~/.config. */
  configFolder: string;
  /** Where a worker is installed unless --dir says: `muster-worker` below XDG_STATE_HOME or ~/.local/state. */
  workerFolder: string;
  /** What a worker that is started here passes on to its scripts. */
  ofWorkers: Record<string, string>;
}

const passedOn = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'DISPLAY', 'SSL_CERT_FILE', 'CHROMIUM'];

// The one place that reads the environment.
// eslint-disable-next-line no-restricted-syntax
export function readEnvironment(env: Record<string, string | undefined> = process.env): Environment {
  const home = env['HOME'] || homedir();
  return {
    url: env['MUSTER_URL'] || undefined,
    apiKey: env['MUSTER_API_KEY'] || undefined,
    context: env['MUSTER_CONTEXT'] || undefined,
    noColor: Boolean(env['NO_COLOR']) || env['TERM'] === 'dumb',
    configFolder: env['MUSTER_CONFIG_DIR'] || join(env['XDG_CONFIG_HOME'] || join(home, '.config'), 'muster'),
    workerFolder: join(env['XDG_STATE_HOME'] || join(home, '.local/state'), 'muster-worker'),
    ofWorkers: Object.fromEntries(passedOn.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
  };
}
