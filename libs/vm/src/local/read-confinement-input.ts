import { isAbsolute, join, resolve } from 'node:path';
import type { Environment } from '@muster/platform';
import { type Confinement, type ConfinementInput, findConfinement } from './confinement';
import { readImagingEnvironment } from './read-imaging-environment';

/** Variables of the service's environment that are passed to a worker and its scripts. */
const passedOn = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'DISPLAY', 'SSL_CERT_FILE', 'PYTHON', 'CHROMIUM'];

/** Variables whose names end with _FILE although their files contain no secret. */
const noSecrets = ['SSL_CERT_FILE', 'IMAGING_DATA_FILE'];

/** Reads from this environment how local workers are confined. */
export function readConfinementInput(root: string, env: Environment, program?: string): ConfinementInput {
  const { env: imagingEnv, ownerReadable, needed } = readImagingEnvironment(env);
  return {
    root,
    program: resolve(program ?? join(__dirname, '../../../../apps/worker/src/main.js')),
    baseEnv: {
      ...Object.fromEntries(passedOn.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
      ...imagingEnv,
    },
    ownerReadable,
    needed,
    // A variable NAME_FILE contains the path of the secret NAME.
    secretPaths: Object.entries(env).flatMap(([name, value]) =>
      name.endsWith('_FILE') && !noSecrets.includes(name) && value && isAbsolute(value) ? [value] : [],
    ),
  };
}

/** Returns why scripts of local agents are not confined with this folder and environment; null if they are. */
export async function explainMissingConfinement(root: string, env: Environment): Promise<string | null> {
  const found: Confinement = await findConfinement(readConfinementInput(root, env, env['LOCAL_WORKER_PROGRAM']));
  return found.fault ?? null;
}
