import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const files = ['package.json', 'package-lock.json'];

/** The folder in which the peers' packages are, installed where they are not yet; or why that could not be. */
export async function installPeers(): Promise<{ folder: string } | { fault: string }> {
  const folder = resolve(__dirname, '../../../../.muster/bench-peers');
  const asked = join(__dirname, '../peers');
  const wanted = await readFile(join(asked, 'package-lock.json'), 'utf8');
  const stamp = join(folder, 'installed');
  if ((await readFile(stamp, 'utf8').catch(() => '')) === wanted) return { folder };
  await mkdir(folder, { recursive: true });
  for (const file of files) await copyFile(join(asked, file), join(folder, file));
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--fetch-retries=1'];
  const child = spawn('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) return { fault: said.split('\n').find((line) => line.includes('error')) ?? `npm ended with ${code}` };
  await writeFile(stamp, wanted);
  return { folder };
}
