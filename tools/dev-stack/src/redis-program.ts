import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from './process';

export interface RedisProgram {
  program: string;
  version: string;
  /** LD_LIBRARY_PATH for the libraries that were downloaded with the program. */
  libraries?: string;
}

export const redisPrograms = ['redis-server', 'valkey-server'];

/**
 * Finds the first Redis or Valkey in a bin folder that runs and is at least version 6.2. Otherwise returns what is
 * wrong with those that exist.
 */
export async function findRedisIn(bin: string, libraries?: string): Promise<RedisProgram | string[]> {
  const faults: string[] = [];
  for (const program of redisPrograms.map((name) => join(bin, name))) {
    if (!(await stat(program).catch(() => null))?.isFile()) continue;
    const env = { LC_ALL: 'C', ...(libraries && { LD_LIBRARY_PATH: libraries }) };
    const { ok, output } = await runProgram({ command: [program, '--version'], env });
    const [, version, major, minor] = /server v=((\d+)\.(\d+)\S*)/i.exec(output) ?? [];
    if (!ok || !version) faults.push(`${program} does not run: ${output.trim().split('\n').at(-1)}`);
    else if (Number(major) * 100 + Number(minor) < 602) faults.push(`${program} is version ${version}`);
    else return { program, version, libraries };
  }
  return faults;
}

/** Same as `findRedisIn`, for a folder into which Debian packages were extracted. */
export async function findExtractedRedis(folder: string): Promise<RedisProgram | string[]> {
  const folders = await Promise.all(
    ['usr/lib', 'lib'].map(async (parent) => {
      const names = await readdir(join(folder, parent)).catch(() => []);
      return [parent, ...names.filter((name) => name.includes('-linux-')).map((name) => join(parent, name))];
    }),
  );
  const libraries = folders.flat().map((each) => join(folder, each));
  return findRedisIn(join(folder, 'usr/bin'), libraries.join(':'));
}
