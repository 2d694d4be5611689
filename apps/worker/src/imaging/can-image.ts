import { spawn } from 'node:child_process';
import type { Settings } from '../settings';
import { imagingPackage } from './imaging-package';
import { pillowEnvironment } from './run-imaging';

const tryMs = 20_000;

/** Whether this machine's Python has what imaging commands need: the same question that they ask when they begin. */
export function canImage({ python, scriptBase, imaging }: Settings): Promise<boolean> {
  const question = imagingPackage()['muster_imaging/pillow.py']!;
  const env = { ...scriptBase, ...pillowEnvironment(imaging), PYTHONPATH: imaging.pythonPath };
  return new Promise((done) => {
    const child = spawn(python, ['-c', question], { env, stdio: 'ignore', cwd: '/' });
    const late = setTimeout(() => child.kill('SIGKILL'), tryMs);
    child.once('error', () => done(false));
    child.once('close', (exitCode) => {
      clearTimeout(late);
      done(exitCode === 0);
    });
  });
}
