import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { explainMissingConfinement } from '@muster/vm';

/**
 * Returns a warning if scripts of local agents can read this data folder; null if they cannot, or if there are no local
 * agents.
 */
export async function describeIfUnconfined(dataDir: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  if (env['LOCAL_AGENTS'] && env['LOCAL_AGENTS'] !== 'true') return null;
  // Agents that run as separate users must be able to enter their folders. The other files are not accessible to them.
  if (process.getuid!() === 0) await chmod(dataDir, 0o711);
  const root = env['LOCAL_AGENTS_DIR'] || join(dataDir, 'agents');
  const fault = await explainMissingConfinement(root, env).catch((error: Error) => error.message);
  return (
    fault &&
    `scripts of local agents run without isolation and can access everything that this user can (${fault}); see “Isolation of scripts” in docs/running.md`
  );
}
