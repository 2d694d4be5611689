import { homedir } from 'node:os';
import { join } from 'node:path';

export interface Environment {
  /** MUSTER_URL. Together with MUSTER_API_KEY it replaces a saved login, for example in a CI pipeline. */
  url?: string;
  apiKey?: string;
  /** MUSTER_CONTEXT: name of the login to use if --context is absent. */
  context?: string;
  /** Whether output has no colours: NO_COLOR is set to any value, or TERM is `dumb`. */
  noColor: boolean;
  /** Whether a browser that is opened on this machine is visible to the user. */
  hasDisplay: boolean;
  /** Folder of the saved logins: MUSTER_CONFIG_DIR, else `muster` below XDG_CONFIG_HOME or ~/.config. */
  configFolder: string;
  /** Default folder of an installed worker: `muster-worker` below XDG_STATE_HOME or ~/.local/state. */
  workerFolder: string;
  /** XDG_CONFIG_HOME or ~/.config. The user's systemd units are below it. */
  configHome: string;
  /** Variables that are saved with an installed worker, so that the worker and its scripts have them after a reboot. */
  ofWorkers: Record<string, string>;
}

const passedOn = [
  ...['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'DISPLAY', 'SSL_CERT_FILE', 'CHROMIUM', 'PYTHON'],
  ...['IMAGING_ROOT', 'IMAGING_DATA_FILE', 'IMAGING_ALLOWED_ROOTS', 'IMAGING_PATH_MAP', 'IMAGING_PYTHONPATH'],
  ...['IMAGING_LIBRARY_PATH', 'PRACTICE_DATABASE', 'PRACTICE_PATIENT_QUERY', 'MUSTER_TUNNEL_HOSTNAME'],
  ...['MUSTER_WORKER_LISTEN', 'MUSTER_FENCE_MS', 'MUSTER_SPOOL_LIMIT_BYTES', 'MUSTER_BUNDLE_CACHE_BYTES'],
];

// No other code of the CLI reads the environment.
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
