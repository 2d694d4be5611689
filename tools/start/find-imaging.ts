import { findPillow, type PillowPlace } from '../dev-stack/src/pillow';

export interface FindImaging {
  dataDir: string;
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
}

/**
 * Finds Pillow for local workers, if the environment specifies where images are. Without Pillow the service starts all
 * the same, and imaging commands report what is missing.
 */
export async function findImaging({ dataDir, env, say }: FindImaging): Promise<PillowPlace> {
  if (!env['IMAGING_ROOT'] && !env['IMAGING_ALLOWED_ROOTS']) return {};
  const found = await findPillow({ dataDir, env, onProgress: say }).catch((error: Error) => [error.message]);
  if (!Array.isArray(found)) return found;
  const reason = `Pillow is not installed and could not be downloaded (${found.join('; ')})`;
  say(`imaging does not work on local agents: ${reason}; run \`apt-get install python3-pil\``);
  return {};
}
