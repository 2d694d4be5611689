import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceApp } from '@muster/contracts';
import { dispatcherConfigs } from '@muster/dispatcher';
import { feedbackSyncConfigs } from '@muster/feedback-sync';
import { gatewayConfigs } from '@muster/gateway';
import { ingestConfigs } from '@muster/ingest';
import { meteringConfigs } from '@muster/metering';
import { type BaseConfig, type Variable, listVariables } from '@muster/platform';
import { schedulerConfigs } from '@muster/scheduler';
import { StorageConfig } from '@muster/storage';
import { parse } from 'yaml';

/** Configuration classes of each app, as its main file lists them. */
const configs: Record<ServiceApp, (new () => BaseConfig)[]> = {
  gateway: gatewayConfigs,
  ingest: ingestConfigs,
  dispatcher: dispatcherConfigs,
  scheduler: schedulerConfigs,
  metering: meteringConfigs,
  'feedback-sync': feedbackSyncConfigs,
};

export function listVariablesOfApp(app: ServiceApp): Variable[] {
  return configs[app].flatMap(listVariables);
}

export function usesObjectStorage(app: ServiceApp): boolean {
  return configs[app].some((config) => config === StorageConfig || config.prototype instanceof StorageConfig);
}

export const repositoryRoot = join(__dirname, '../..');

export function readText(path: string): string {
  return readFileSync(join(repositoryRoot, path), 'utf8');
}

export function readYaml<T>(path: string): T {
  return parse(readText(path), { merge: true }) as T;
}

/** Environment of one process: plain values by name, and the names of variables whose values come from a secret. */
export interface GivenEnvironment {
  plain: Record<string, string>;
  secret: string[];
}

/** Returns every mismatch between an app’s environment and the variables that its configuration classes read. */
export function checkEnvironment(app: ServiceApp, { plain, secret }: GivenEnvironment): string[] {
  const variables = listVariablesOfApp(app);
  const known = new Map(variables.map((variable) => [variable.name, variable]));
  const provided = [...Object.keys(plain), ...secret];
  const unknown = provided.filter((name) => !known.has(name)).map((name) => `${app} does not read ${name}`);
  const missing = variables
    .filter(({ name, options }) => options.default === undefined && !options.optional && !provided.includes(name))
    .map(({ name }) => `${app} needs ${name}`);
  const open = Object.keys(plain)
    .filter((name) => known.get(name)?.options.secret)
    .map((name) => `${app} gets the secret ${name} as a plain value`);
  const unreadable = Object.entries(plain)
    .filter(([name, text]) => text !== '' && known.has(name) && !isReadable(known.get(name)!, text))
    .map(([name, text]) => `${app} cannot read "${text}" as ${name}`);
  return [...unknown, ...missing, ...open, ...unreadable];
}

/**
 * Returns the secrets that an app reads but its environment lacks. They are optional for the app; the specs list those
 * that a deployment leaves out on purpose.
 */
export function listMissingSecrets(app: ServiceApp, { secret }: GivenEnvironment): string[] {
  const read = listVariablesOfApp(app).filter(({ options }) => options.secret);
  return [...new Set(read.map(({ name }) => name))].filter((name) => !secret.includes(name)).sort();
}

function isReadable(variable: Variable, text: string): boolean {
  try {
    variable.parse(text);
    return true;
  } catch {
    return false;
  }
}
