import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { portOf, publicUrl, type Served } from './ports';

type Environment = Record<string, string>;

/** Folder with all data of the development stack. Tests use a different one. */
export function getDevFolder(root: string): string {
  return process.env['MUSTER_DEV_DIR'] ?? join(root, '.muster/dev');
}

/**
 * Writes the stack's variables to a file when the stack is ready. Only the user can read the file, because it contains
 * secrets.
 */
export async function writeEnvironment(root: string, environment: Environment): Promise<void> {
  const file = getEnvironmentFilePath(root);
  await writeFile(`${file}.new`, `${JSON.stringify(environment, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

export async function readEnvironment(root: string): Promise<Environment> {
  return JSON.parse(await readFile(getEnvironmentFilePath(root), 'utf8')) as Environment;
}

/** Environment of the app: the stack's variables, the developer's own, and the app's port. */
export function buildEnvironment(app: Served, stack: Environment, own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  for (const name of ['DATABASE_URL', 'REDIS_URL', 'S3_ENDPOINT']) {
    if (own[name] && own[name] !== stack[name]) {
      throw new Error(
        `the running development stack uses another ${name}; end all nx serve processes first, or unset ${name}`,
      );
    }
  }
  const nonEmpty = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== ''));
  return { ...stack, ...nonEmpty, ...buildAddresses(app) };
}

function buildAddresses(app: Served): Environment {
  const apps = Object.entries(portOf).map(([name, port]) => [name, `http://127.0.0.1:${port}`]);
  return {
    HOST: '127.0.0.1',
    PORT: String(portOf[app]),
    ...(app === 'dev-proxy' ? { DEV_PROXY_APPS: JSON.stringify(Object.fromEntries(apps)) } : {}),
    ...(app === 'standalone' ? { PUBLIC_APP_URL: `http://localhost:${portOf.standalone}` } : {}),
  };
}

function getEnvironmentFilePath(root: string): string {
  return join(getDevFolder(root), 'environment.json');
}

export const commonEnvironment: Environment = { PUBLIC_APP_URL: publicUrl, SHUTDOWN_TIMEOUT_MS: '5000' };
