import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const files = ['package.json', 'package-lock.json'];

/** Installs the peers' packages if they are not installed yet. Returns their folder, or why the installation failed. */
export async function installPeers(): Promise<{ folder: string } | { fault: string }> {
  const folder = resolve(__dirname, '../../../../.muster/bench-peers');
  const source = join(__dirname, '../peers');
  const wanted = await readFile(join(source, 'package-lock.json'), 'utf8');
  const stamp = join(folder, 'installed');
  if ((await readFile(stamp, 'utf8').catch(() => '')) === wanted) return { folder };
  await mkdir(folder, { recursive: true });
  for (const file of files) await copyFile(join(source, file), join(folder, file));
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--fetch-retries=1'];
  const child = spawn('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0)
    return { fault: output.split('\n').find((line) => line.includes('error')) ?? `npm ended with ${code}` };
  await writeFile(stamp, wanted);
  return { folder };
}
