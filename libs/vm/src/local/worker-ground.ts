import { isAbsolute, join, resolve } from 'node:path';
import type { Environment } from '@muster/platform';
import { type Confinement, type ConfinementInput, findConfinement } from './confinement';

/** What a worker and its scripts may know of the service's own environment. */
const passedOn = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'DISPLAY', 'SSL_CERT_FILE', 'PYTHON', 'CHROMIUM'];

/** What local workers run on, as this environment says. */
export function workerGround(root: string, env: Environment, program?: string): ConfinementInput {
  return {
    root,
    program: resolve(program ?? join(__dirname, '../../../../apps/worker/src/main.js')),
    baseEnv: Object.fromEntries(passedOn.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
    // NAME_FILE is where the secret of that name is.
    secretPaths: Object.entries(env).flatMap(([name, value]) =>
      name.endsWith('_FILE') && name !== 'SSL_CERT_FILE' && value && isAbsolute(value) ? [value] : [],
    ),
  };
}

/** Why scripts of local agents would not be confined with this folder and environment; null: they are. */
export async function whyUnconfined(root: string, env: Environment): Promise<string | null> {
  const found: Confinement = await findConfinement(workerGround(root, env, env['LOCAL_WORKER_PROGRAM']));
  return found.fault ?? null;
}
