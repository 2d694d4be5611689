import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { whyUnconfined } from '@muster/vm';

/** The line that says that scripts of local agents see this data folder; null where they do not, or there are none. */
export async function sayIfUnconfined(dataDir: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  if (env['LOCAL_AGENTS'] && env['LOCAL_AGENTS'] !== 'true') return null;
  // Agents with a user of their own have to get to their folders; all else in here is closed to them.
  if (process.getuid!() === 0) await chmod(dataDir, 0o711);
  const root = env['LOCAL_AGENTS_DIR'] || join(dataDir, 'agents');
  const fault = await whyUnconfined(root, env).catch((error: Error) => error.message);
  return (
    fault &&
    `scripts of local agents run without isolation and can access everything that this user can (${fault}); see “Isolation of scripts” in docs/running.md`
  );
}
