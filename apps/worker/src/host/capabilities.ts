import type { MachineCapability, MachinePart } from '@muster/contracts';
import { spawn } from 'node:child_process';
import { findBrowser, findProgram } from '../browser/find-browser';
import { imagingPackage } from '../imaging/imaging-package';
import { pillowEnvironment } from '../imaging/run-imaging';
import type { MachineSettings } from '../settings';

const tryMs = 20_000;

type Found = Pick<MachineCapability, 'available' | 'detail'>;
/** Null: it could not be found out in time, and nothing is said of it. */
type Answer = Found | null;

/** What this machine has of what commands need, each asked of the thing itself. */
export async function capabilitiesOf(machine: MachineSettings): Promise<(MachineCapability & { name: MachinePart })[]> {
  const { scriptBase } = machine;
  const found: Record<MachinePart, Answer | Promise<Answer>> = {
    python: askPython(machine, 'import platform\nprint(platform.python_version())', `${machine.python} does not run`),
    chromium: programOf(findBrowser(scriptBase), 'no browser was found on PATH, in CHROMIUM or in a standard location'),
    ffmpeg: programOf(findProgram('ffmpeg', scriptBase), 'ffmpeg is not on PATH'),
    pillow: askPython(machine, hasPillow(), 'Python does not find Pillow, or Pillow cannot read TIFF and JPEG'),
    odbc: askPython(machine, 'import pyodbc\nprint(pyodbc.version)', 'Python does not find pyodbc'),
    sandbox: sandboxOf(scriptBase),
  };
  const names = Object.keys(found) as MachinePart[];
  const all = await Promise.all(names.map(async (name) => ({ name, answer: await found[name] })));
  return all.flatMap(({ name, answer }) => (answer ? [{ name, ...answer }] : []));
}

/** The same question that imaging commands ask when they begin. */
function hasPillow(): string {
  const question = imagingPackage()['muster_imaging/pillow.py']!.replace(/if __name__[^]*$/, '');
  return `${question}\nif not has_pillow():\n    raise SystemExit(1)\nimport PIL\nprint(PIL.__version__)`;
}

function askPython({ python, scriptBase, imaging }: MachineSettings, question: string, otherwise: string) {
  const env = { ...scriptBase, ...pillowEnvironment(imaging), PYTHONPATH: imaging.pythonPath };
  return ask(python, ['-c', question], env, otherwise);
}

function programOf(path: string | null, otherwise: string): Found {
  return path === null ? { available: false, detail: otherwise } : { available: true, detail: shown(path) };
}

/** Whether a browser keeps its pages in one: it does not for root, nor where the system gives it no namespaces. */
async function sandboxOf(env: Record<string, string>): Promise<Answer> {
  if (process.geteuid?.() === 0) return { available: false, detail: 'the worker runs as root' };
  if (process.platform !== 'linux') return { available: true, detail: null };
  return ask(
    'unshare',
    ['--user', '--map-root-user', 'true'],
    env,
    'the system does not allow ordinary users to create namespaces',
  );
}

/** Whether the program succeeds, with what it prints. */
function ask(program: string, args: string[], env: Record<string, string>, otherwise: string): Promise<Answer> {
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
      else done(exitCode === 0 ? { available: true, detail: shown(text) } : { available: false, detail: otherwise });
    });
  });
}

function shown(text: string): string | null {
  return text.trim().slice(0, 300) || null;
}
