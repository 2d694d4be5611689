import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';

export const root = resolve(__dirname, '../../..');

/** Runs `npm start` until it is ready. */
export async function startNpmProcess(args: string[], credentials: Record<string, string> = {}): Promise<ChildProcess> {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [join(root, 'tools/start/start.mjs'), ...args], {
    env: { PATH, HOME, ...credentials },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  await new Promise<void>((ready, fail) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('ready in')) ready();
    });
    child.once('exit', (code) => fail(new Error(`npm start ended with ${code}: ${output}`)));
  });
  return child;
}

/** Ends the service with all its processes. */
export async function endNpmProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}
