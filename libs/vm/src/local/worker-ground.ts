import { isAbsolute, join, resolve } from 'node:path';
import type { Environment } from '@muster/platform';
import { type Confinement, type ConfinementInput, findConfinement } from './confinement';
import { imagingGround } from './imaging-ground';

/** What a worker and its scripts may know of the service's own environment. */
const passedOn = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'DISPLAY', 'SSL_CERT_FILE', 'PYTHON', 'CHROMIUM'];

/** What is a file by its name's end, and no secret's. */
const noSecrets = ['SSL_CERT_FILE', 'IMAGING_DATA_FILE'];

/** What local workers run on, as this environment says. */
export function workerGround(root: string, env: Environment, program?: string): ConfinementInput {
  const { env: imagingEnv, lent, needed } = imagingGround(env);
  return {
    root,
    program: resolve(program ?? join(__dirname, '../../../../apps/worker/src/main.js')),
    baseEnv: {
      ...Object.fromEntries(passedOn.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
      ...imagingEnv,
    },
    lent,
    needed,
    // NAME_FILE is where the secret of that name is.
    secretPaths: Object.entries(env).flatMap(([name, value]) =>
      name.endsWith('_FILE') && !noSecrets.includes(name) && value && isAbsolute(value) ? [value] : [],
    ),
  };
}

/** Why scripts of local agents would not be confined with this folder and environment; null: they are. */
export async function whyUnconfined(root: string, env: Environment): Promise<string | null> {
  const found: Confinement = await findConfinement(workerGround(root, env, env['LOCAL_WORKER_PROGRAM']));
  return found.fault ?? null;
}
