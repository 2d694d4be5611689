import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { readJson } from './host/files';
import { isAlive, readEnvironment } from './runs/processes';

export interface Settings extends MachineSettings {
  baseUrl: string;
  apiKey: string;
  agentId: string;
  folder: string;
  /** Address at which pushed commands are accepted; null for none. */
  listen: { host: string; port: number } | null;
  /**
   * URL or host name to which the service pushes commands, or null for no pushes. With `auto`, it is the address of
   * `listen` if the service runs on this host.
   */
  tunnel: string | 'auto' | null;
  /**
   * File that the process which supervises this worker updates. When the file's modification time is too old, the
   * worker ends.
   */
  leaseFile: string | null;
  /** Time without contact to the service after which a run is killed. */
  fenceMs: number;
  /** Maximum bytes of undelivered reports of a run on disk. */
  spoolLimitBytes: number;
  /** Maximum bytes of stored bundles. */
  bundleCacheBytes: number;
}

/** Settings with which commands run on this machine. */
export interface MachineSettings {
  python: string;
  /** Variables of the worker's environment that scripts get. */
  scriptBase: Record<string, string>;
  /** Additional settings, which only imaging commands get. */
  imaging: ImagingSettings;
}

export interface ImagingSettings {
  /**
   * Variables for imaging/muster_imaging/settings.py: IMAGING_ROOT (folder of the images), IMAGING_DATA_FILE (list of
   * the images; default `images.dat` in IMAGING_ROOT), IMAGING_ALLOWED_ROOTS (folders, separated by `;`, outside of
   * which nothing is read; default IMAGING_ROOT), IMAGING_PATH_MAP (`\\\\server\\share=/mnt/share`, several separated
   * by `;`), PRACTICE_DATABASE (`sqlite:///path`, or `odbc:<connection string>` if pyodbc is installed) and
   * PRACTICE_PATIENT_QUERY.
   */
  variables: Record<string, string>;
  /** IMAGING_PYTHONPATH: folder of Pillow, if Python does not find Pillow itself. */
  pythonPath: string;
  /** IMAGING_LIBRARY_PATH: folders of the libraries that such a Pillow needs. */
  libraryPath: string;
}

const imagingVariables = [
  ...['IMAGING_ROOT', 'IMAGING_DATA_FILE', 'IMAGING_ALLOWED_ROOTS', 'IMAGING_PATH_MAP'],
  ...['PRACTICE_DATABASE', 'PRACTICE_PATIENT_QUERY'],
];

type Variables = Record<string, string | undefined>;

// Only this file reads the environment.
// eslint-disable-next-line no-restricted-syntax
export function readSettings(env: Variables = process.env): Settings {
  const faults: string[] = [];
  const requireVariable = (name: string): string => {
    const value = env[name]?.trim();
    if (!value) faults.push(`${name} is missing`);
    return value ?? '';
  };
  const parsePositive = (name: string, fallback: number): number => {
    const value = env[name]?.trim();
    if (!value) return fallback;
    if (!/^\d+$/.test(value) || Number(value) < 1) faults.push(`${name} must be a whole number of at least 1`);
    return Number(value);
  };

  const baseUrl = requireVariable('SERVICE_BASE_URL').replace(/\/+$/, '');
  if (baseUrl && !isHttpUrl(baseUrl)) faults.push('SERVICE_BASE_URL must be an http or https URL');
  const agentId = requireVariable('AGENT_ID');
  if (agentId && !/^[\w-]{1,100}$/.test(agentId)) faults.push('AGENT_ID must be an id');

  const settings: Settings = {
    baseUrl,
    apiKey: requireVariable('SERVICE_API_KEY'),
    agentId,
    folder: getWorkerFolder(env),
    listen: parseListenAddress(env.MUSTER_WORKER_LISTEN?.trim() || '127.0.0.1:0', faults),
    tunnel: parseTunnelSetting(env.MUSTER_TUNNEL_HOSTNAME?.trim()),
    leaseFile: env.MUSTER_LEASE_FILE?.trim() || null,
    fenceMs: parsePositive('MUSTER_FENCE_MS', 15 * 60_000),
    spoolLimitBytes: parsePositive('MUSTER_SPOOL_LIMIT_BYTES', 256 * 1024 * 1024),
    bundleCacheBytes: parsePositive('MUSTER_BUNDLE_CACHE_BYTES', 1024 * 1024 * 1024),
    ...readMachine(env),
  };
  if (faults.length) throw new Error(`the worker's environment is not valid: ${faults.join('; ')}`);
  return settings;
}

// eslint-disable-next-line no-restricted-syntax
export function readMachine(env: Variables = process.env): MachineSettings {
  return {
    python: env.PYTHON?.trim() || 'python3',
    scriptBase: pickVariables(env, [
      'PATH',
      'HOME',
      'USER',
      'LANG',
      'LC_ALL',
      'TZ',
      'DISPLAY',
      'SSL_CERT_FILE',
      'CHROMIUM',
    ]),
    imaging: {
      variables: toAbsolutePaths(pickVariables(env, imagingVariables)),
      pythonPath: env.IMAGING_PYTHONPATH?.trim() ?? '',
      libraryPath: env.IMAGING_LIBRARY_PATH?.trim() ?? '',
    },
  };
}

/**
 * Flags of `pack publish`. A missing flag is replaced by the environment, or else by the settings of the worker on this
 * machine.
 */
export interface PublishFlags {
  service?: string;
  keyFile?: string;
  workerFolder?: string;
}

export function readPublishSettings(
  flags: PublishFlags,
  // eslint-disable-next-line no-restricted-syntax
  env: Variables = process.env,
): Pick<Settings, 'baseUrl' | 'apiKey'> {
  const folder = flags.workerFolder ? resolve(flags.workerFolder) : getWorkerFolder(env);
  const worker = readEnvironmentOfWorker(folder);
  const ofWorker = (readText(join(folder, 'service-key')) ?? worker.SERVICE_API_KEY)?.trim();
  const baseUrl = (flags.service ?? env.SERVICE_BASE_URL?.trim()) || worker.SERVICE_BASE_URL || '';
  const ownKey = flags.keyFile ? (readText(flags.keyFile)?.trim() ?? '') : env.SERVICE_API_KEY?.trim();
  const apiKey = ownKey || (flags.keyFile ? '' : ofWorker) || '';
  const faults = [
    ...(isHttpUrl(baseUrl)
      ? []
      : ['the address of the service is missing; use --service <url>, or set SERVICE_BASE_URL']),
    ...(apiKey
      ? []
      : [
          flags.keyFile
            ? `there is no key in ${flags.keyFile}`
            : 'the key is missing; set SERVICE_API_KEY, or use --key-file <path>',
        ]),
  ];
  if (faults.length) throw new Error(`${faults.join('; ')} (no worker is running in ${folder})`);
  return { baseUrl: baseUrl.replace(/\/+$/, ''), apiKey };
}

function getWorkerFolder(env: Variables): string {
  return resolve(env.MUSTER_WORKER_DIR?.trim() || join(homedir(), '.muster-worker'));
}

/** Returns the environment of the worker that runs in the folder; empty if none runs. */
function readEnvironmentOfWorker(folder: string): Variables {
  const holder = readJson<{ pid: number; startTime: string }>(join(folder, 'worker.lock'));
  return holder && isAlive(holder) ? readEnvironment(holder.pid) : {};
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function parseListenAddress(text: string, faults: string[]): Settings['listen'] {
  if (text === 'off') return null;
  const match = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(text);
  if (!match || Number(match[2]) > 65_535) {
    faults.push('MUSTER_WORKER_LISTEN must be host:port or off');
    return null;
  }
  return { host: match[1]!.replace(/^\[|\]$/g, ''), port: Number(match[2]) };
}

function parseTunnelSetting(text: string | undefined): Settings['tunnel'] {
  if (!text) return 'auto';
  return text === 'off' ? null : text;
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}

/** Makes relative paths of the patient database and folders absolute, because commands run in another folder. */
function toAbsolutePaths(variables: Record<string, string>): Record<string, string> {
  const { PRACTICE_DATABASE: address, IMAGING_ROOT: root, IMAGING_ALLOWED_ROOTS: allowed } = variables;
  const path = address && /^sqlite:\/\/\/(.+)$/.exec(address.trim())?.[1];
  return {
    ...variables,
    ...(path ? { PRACTICE_DATABASE: `sqlite:///${resolve(path)}` } : {}),
    ...(root ? { IMAGING_ROOT: toAbsolutePath(root) } : {}),
    ...(allowed ? { IMAGING_ALLOWED_ROOTS: allowed.split(';').map(toAbsolutePath).join(';') } : {}),
  };
}

/** Returns an absolute path, but leaves shares and paths of other operating systems unchanged. */
function toAbsolutePath(path: string): string {
  const text = path.trim();
  return text === '' || /^[/\\]|^[A-Za-z]:/.test(text) ? text : resolve(text);
}

function pickVariables(env: Variables, names: string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}
