import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './process';

export interface RedisProgram {
  program: string;
  version: string;
  /** LD_LIBRARY_PATH for libraries that were fetched with it. */
  libraries?: string;
}

export const redisPrograms = ['redis-server', 'valkey-server'];

/** The first Redis or Valkey in a bin folder that runs and is at least 6.2; else what is wrong with those that are there. */
export async function redisIn(bin: string, libraries?: string): Promise<RedisProgram | string[]> {
  const faults: string[] = [];
  for (const program of redisPrograms.map((name) => join(bin, name))) {
    if (!(await stat(program).catch(() => null))?.isFile()) continue;
    const env = { LC_ALL: 'C', ...(libraries && { LD_LIBRARY_PATH: libraries }) };
    const { ok, output } = await run({ command: [program, '--version'], env });
    const [, version, major, minor] = /server v=((\d+)\.(\d+)\S*)/i.exec(output) ?? [];
    if (!ok || !version) faults.push(`${program} does not run: ${output.trim().split('\n').at(-1)}`);
    else if (Number(major) * 100 + Number(minor) < 602) faults.push(`${program} is version ${version}`);
    else return { program, version, libraries };
  }
  return faults;
}

/** The same for a folder that Debian packages were extracted into. */
export async function extractedRedis(folder: string): Promise<RedisProgram | string[]> {
  const places = await Promise.all(
    ['usr/lib', 'lib'].map(async (place) => {
      const names = await readdir(join(folder, place)).catch(() => []);
      return [place, ...names.filter((name) => name.includes('-linux-')).map((name) => join(place, name))];
    }),
  );
  const libraries = places.flat().map((place) => join(folder, place));
  return redisIn(join(folder, 'usr/bin'), libraries.join(':'));
}
