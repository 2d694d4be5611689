import { delimiter, join } from 'node:path';
import { listDeployedExtensionFolders } from '../browser/extensions';
import { findBrowser } from '../browser/find-browser';
import { isObject, type Command } from '../protocol/command';
import { KnownSecrets } from './redactor';

export interface WorkerFacts {
  baseUrl: string;
  apiKey: string;
  agentId: string;
  organizationId: string;
  signingSecret: string;
  scriptBase: Record<string, string>;
  /** The worker's folder. */
  folder: string;
}

const ownSecrets = ['SERVICE_API_KEY', 'SERVICE_SIGNING_SECRET'];
/** Pattern of the variables for scripts that contain URLs and ids, which are not secret. */
const open =
  /^(SERVICE_(BASE_URL|WORKFLOW_PACK[A-Z_]*|RUNTIME_BUNDLE[A-Z_]*)|(AGENT|ORGANIZATION|MUSTER|WORKFLOW|RUNTIME|PORTAL|REQUEST|TRACE)([A-Z_]*)|TRACEPARENT)$/;

/**
 * Returns the environment of a script: a small base, the worker's facts, the command's variables, and last the
 * variables that a command cannot override.
 */
export function buildScriptEnvironment(command: Command, facts: WorkerFacts, runRoot: string): Record<string, string> {
  const { scriptBase } = facts;
  // The worker finds the browser for all scripts. A CHROMIUM that is set is passed on, even if the file is missing.
  const browser = scriptBase['CHROMIUM'] ? null : findBrowser(scriptBase);
  return {
    ...scriptBase,
    ...(browser ? { CHROMIUM: browser } : {}),
    SERVICE_BASE_URL: facts.baseUrl,
    SERVICE_API_KEY: facts.apiKey,
    SERVICE_SIGNING_SECRET: facts.signingSecret,
    AGENT_ID: facts.agentId,
    ORGANIZATION_ID: facts.organizationId,
    ...command.env,
    PYTHONPATH: [join(runRoot, 'bundle'), runRoot].join(delimiter),
    PYTHONUNBUFFERED: '1',
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONIOENCODING: 'utf-8:replace',
    ...(command.kind === 'run' && command.jobId ? { MUSTER_JOB_ID: command.jobId } : {}),
    MUSTER_RUN_ROOT: runRoot,
    MUSTER_BROWSER_EXTENSIONS: listDeployedExtensionFolders(facts.folder).join(delimiter),
    MUSTER_RUN_ID: command.commandId,
  };
}

/** Returns the names of secret variables. If the service lists none, all are secret except inputs and ids. */
export function listSecretNames({ env, payload }: Command): string[] {
  if (Array.isArray(payload.secretNames)) return [...ownSecrets, ...payload.secretNames.map(String)];
  const variables = isObject(payload.variables) ? payload.variables : {};
  const others = Object.keys(env).filter((name) => !(name in variables) && !open.test(name));
  return [...new Set([...ownSecrets, ...others])];
}

export function listSecretValues(names: string[], env: Record<string, string>): string[] {
  return names.map((name) => env[name]).filter((value): value is string => Boolean(value));
}

/** Returns the secrets and the sensitive values in the environment of a run's script, and its one-time codes. */
export function collectSecrets(
  { secretNames, sensitiveNames = [] }: { secretNames: string[]; sensitiveNames?: string[] },
  env: Record<string, string>,
  codes: string[] = [],
): KnownSecrets {
  return new KnownSecrets([...listSecretValues(secretNames, env), ...codes], listSecretValues(sensitiveNames, env));
}
