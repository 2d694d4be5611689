import type { MachineCapability, MachinePart } from '@muster/contracts';
import { spawn } from 'node:child_process';
import { findBrowser, findProgram } from '../browser/find-browser';
import { loadImagingPackage } from '../imaging/load-imaging-package';
import { buildPillowEnvironment } from '../imaging/run-imaging';
import type { MachineSettings } from '../settings';

const tryMs = 20_000;

type Found = Pick<MachineCapability, 'available' | 'detail'>;
/** Result of a check. Null if the check did not finish in time; the capability is then not reported. */
type Answer = Found | null;

/** Tries the programs and features that commands need, and returns which of them this machine has. */
export async function detectCapabilities(
  machine: MachineSettings,
): Promise<(MachineCapability & { name: MachinePart })[]> {
  const { scriptBase } = machine;
  const found: Record<MachinePart, Answer | Promise<Answer>> = {
    python: checkWithPython(
      machine,
      'import platform\nprint(platform.python_version())',
      `${machine.python} does not run`,
    ),
    chromium: toPathCapability(
      findBrowser(scriptBase),
      'no browser was found on PATH, in CHROMIUM or in a standard location',
    ),
    ffmpeg: toPathCapability(findProgram('ffmpeg', scriptBase), 'ffmpeg is not on PATH'),
    pillow: checkWithPython(
      machine,
      buildPillowCheckCode(),
      'Python does not find Pillow, or Pillow cannot read TIFF and JPEG',
    ),
    odbc: checkWithPython(machine, 'import pyodbc\nprint(pyodbc.version)', 'Python does not find pyodbc'),
    sandbox: checkSandbox(scriptBase),
  };
  const names = Object.keys(found) as MachinePart[];
  const all = await Promise.all(names.map(async (name) => ({ name, answer: await found[name] })));
  const required = /^\s*odbc:/.test(machine.imaging.variables['PRACTICE_DATABASE'] ?? '');
  return all.flatMap(({ name, answer }) =>
    answer ? [{ name, ...answer, ...(name === 'odbc' && required ? { required } : {}) }] : [],
  );
}

/** Returns Python code with the same check for Pillow that imaging commands make when they start. */
function buildPillowCheckCode(): string {
  const question = loadImagingPackage()['muster_imaging/pillow.py']!.replace(/if __name__[^]*$/, '');
  return `${question}\nif not has_pillow():\n    raise SystemExit(1)\nimport PIL\nprint(PIL.__version__)`;
}

function checkWithPython({ python, scriptBase, imaging }: MachineSettings, question: string, otherwise: string) {
  const env = { ...scriptBase, ...buildPillowEnvironment(imaging), PYTHONPATH: imaging.pythonPath };
  return checkWithProgram(python, ['-c', question], env, otherwise);
}

function toPathCapability(path: string | null, otherwise: string): Found {
  return path === null ? { available: false, detail: otherwise } : { available: true, detail: shortenDetail(path) };
}

/** Whether a browser can isolate its pages in a sandbox: not as root, and not if the system denies user namespaces. */
async function checkSandbox(env: Record<string, string>): Promise<Answer> {
  if (process.geteuid?.() === 0) return { available: false, detail: 'the worker runs as root' };
  if (process.platform !== 'linux') return { available: true, detail: null };
  return checkWithProgram(
    'unshare',
    ['--user', '--map-root-user', 'true'],
    env,
    'the system does not allow ordinary users to create namespaces',
  );
}

/**
 * Runs a program and returns whether it succeeds, with its output as the detail. The detail of a failure is
 * `otherwise`.
 */
function checkWithProgram(
  program: string,
  args: string[],
  env: Record<string, string>,
  otherwise: string,
): Promise<Answer> {
  return new Promise((done) => {
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'ignore'], cwd: '/' });
    const late = setTimeout(() => child.kill('SIGKILL'), tryMs);
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => (text = (text + chunk.toString('utf8')).slice(0, 1000)));
    child.once('error', () => {
      clearTimeout(late);
      done({ available: false, detail: otherwise });
    });
    child.once('close', (exitCode) => {
      clearTimeout(late);
      if (child.killed) done(null);
      else
        done(
          exitCode === 0 ? { available: true, detail: shortenDetail(text) } : { available: false, detail: otherwise },
        );
    });
  });
}

function shortenDetail(text: string): string | null {
  return text.trim().slice(0, 300) || null;
}
