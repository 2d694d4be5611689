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
  /** A page that is opened here is seen here. */
  hasDisplay: boolean;
  /** Where logins are kept: MUSTER_CONFIG_DIR, else `muster` below XDG_CONFIG_HOME or ~/.config. */
  configFolder: string;
  /** Where a worker is installed unless --dir says: `muster-worker` below XDG_STATE_HOME or ~/.local/state. */
  workerFolder: string;
  /** XDG_CONFIG_HOME or ~/.config: where a user's own services are. */
  configHome: string;
  /** What a worker that is installed here has for itself and its scripts, after a reboot too. */
  ofWorkers: Record<string, string>;
}

const passedOn = [
  ...['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'DISPLAY', 'SSL_CERT_FILE', 'CHROMIUM', 'PYTHON'],
  ...['IMAGING_ROOT', 'IMAGING_DATA_FILE', 'IMAGING_ALLOWED_ROOTS', 'IMAGING_PATH_MAP', 'IMAGING_PYTHONPATH'],
  ...['IMAGING_LIBRARY_PATH', 'PRACTICE_DATABASE', 'PRACTICE_PATIENT_QUERY', 'MUSTER_TUNNEL_HOSTNAME'],
  ...['MUSTER_WORKER_LISTEN', 'MUSTER_FENCE_MS', 'MUSTER_SPOOL_LIMIT_BYTES', 'MUSTER_BUNDLE_CACHE_BYTES'],
];

// The one place that reads the environment.
// eslint-disable-next-line no-restricted-syntax
export function readEnvironment(env: Record<string, string | undefined> = process.env): Environment {
  const home = env['HOME'] || homedir();
  const configHome = env['XDG_CONFIG_HOME'] || join(home, '.config');
  return {
    url: env['MUSTER_URL'] || undefined,
    apiKey: env['MUSTER_API_KEY'] || undefined,
    context: env['MUSTER_CONTEXT'] || undefined,
    noColor: Boolean(env['NO_COLOR']) || env['TERM'] === 'dumb',
    hasDisplay: process.platform !== 'linux' || Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY']),
    configFolder: env['MUSTER_CONFIG_DIR'] || join(configHome, 'muster'),
    configHome,
    workerFolder: join(env['XDG_STATE_HOME'] || join(home, '.local/state'), 'muster-worker'),
    ofWorkers: Object.fromEntries(passedOn.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
  };
}
