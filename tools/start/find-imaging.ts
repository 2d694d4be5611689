import { findPillow, type PillowPlace } from '../dev-stack/src/pillow';

export interface FindImaging {
  dataDir: string;
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
}

/**
 * Where local workers find Pillow, for those who have said where their images are. Without it the service starts all
 * the same: imaging commands then say what is missing.
 */
export async function findImaging({ dataDir, env, say }: FindImaging): Promise<PillowPlace> {
  if (!env['IMAGING_ROOT'] && !env['IMAGING_ALLOWED_ROOTS']) return {};
  const found = await findPillow({ dataDir, env, onProgress: say }).catch((error: Error) => [error.message]);
  if (!Array.isArray(found)) return found;
  const why = `Pillow was not found and could not be downloaded (${found.join('; ')})`;
  say(`imaging does not work on local agents: ${why}; run \`apt-get install python3-pil\``);
  return {};
}
