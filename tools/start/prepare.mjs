// Installs the dependencies and builds the code, which must exist before the start itself can run.
// Plain JavaScript without dependencies, because it is the first thing that runs on a bare machine.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { countInstalled, listPackageFolders, formatInstallLine } from './install-progress.mjs';
import { Phases } from './phases.mjs';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** An error for the user. Its message is one sentence, which is printed without a stack trace. */
export class StartupError extends Error {}

/** Installs and builds what is missing. Two calls in one clone wait for each other. */
export async function prepareStart(say, phases = new Phases(say)) {
  requireNodeVersion();
  await withLock(say, async () => {
    await phases.runPhase('dependencies', () => installPackages(say));
    const { build } = await import(pathToFileURL(join(root, 'tools/build/build.mjs')).href);
    const { compiled } = await phases.runPhase('compiling', () => build().catch(buildFailedError));
    if (compiled > 50) say(`compiled ${compiled} files`);
    if (compiled > 0 || !existsSync(join(root, 'dist/worker/muster-worker.js')))
      await phases.runPhase('worker', buildWorker);
    const { buildConsole } = await import(pathToFileURL(join(root, 'tools/build/console.mjs')).href);
    if (await phases.runPhase('console', () => buildConsole().catch(buildFailedError))) say('built the console');
  });
}

/** Builds the worker as one file, which users download from the service. */
function buildWorker() {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [join(root, 'apps/worker/one-file.mjs')], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    child.on('error', fail);
    child.on('exit', (code) => (code === 0 ? done() : fail(new Error('the worker could not be built'))));
  });
}

function buildFailedError(error) {
  throw error.code === 'ENOSPC' ? diskFullError() : error;
}

function requireNodeVersion() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  throw new StartupError(`Node ${process.versions.node} is too old for Muster; install Node 20.19 or newer.`);
}

async function installPackages(say) {
  const lockfile = await readFile(join(root, 'package-lock.json'));
  // Native packages come prebuilt for every version of Node, so the version does not matter.
  const platform = `${process.platform} ${process.arch}\n`;
  const wanted = createHash('sha256').update(lockfile).update(platform).digest('hex');
  const stampFile = join(root, 'node_modules', '.muster-install');
  if ((await readFile(stampFile, 'utf8').catch(() => '')) === wanted) return;
  const folders = listPackageFolders(JSON.parse(lockfile));
  say(`installing about ${folders.length} packages with npm ci (once, a minute or two)`);
  const progress = showInstallProgress(folders, say);
  // If npm runs this script, the same npm is used.
  const npm = process.env.npm_execpath;
  const command = npm ? [process.execPath, npm] : ['npm'];
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code, output } = await runProgram([...command, ...args]).finally(() => progress.end());
  if (code !== 0) {
    if (/ENOSPC|no space left/i.test(output) || (await readFreeBytes(root)) < 1024 * 1024) throw diskFullError();
    const reason =
      output
        .trim()
        .split('\n')
        .find((line) => /npm (error|ERR)/.test(line)) ?? `npm ended with ${code}`;
    throw new StartupError(
      `The dependencies could not be installed (${reason.replace(/^npm (error|ERR!?) ?/, '').trim()}); run npm ci to see its output.`,
    );
  }
  await writeFile(stampFile, wanted);
}

/** Shows the progress as one line that is overwritten on a terminal, and as a new line every 10 seconds in a log. */
function showInstallProgress(folders, say) {
  const isTerminal = process.stdout.isTTY;
  const began = Date.now();
  let before = 0;
  const showLine = async () => {
    const count = await countInstalled(root, folders);
    const line = `${formatInstallLine(count, before, folders.length)}, ${Math.round((Date.now() - began) / 1000)} s`;
    before = count;
    if (isTerminal) process.stdout.write(`\r\x1b[2K  ${line}`);
    else say(line);
  };
  const timer = setInterval(() => void showLine(), isTerminal ? 1000 : 10_000);
  return {
    end: () => {
      clearInterval(timer);
      if (isTerminal) process.stdout.write('\r\x1b[2K');
    },
  };
}

function runProgram([command, ...args]) {
  return new Promise((done, fail) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    // A signal also ends npm, so that it does not continue with half an installation in the background.
    const endProgram = (signal) => {
      child.kill(signal);
      child.once('close', () => process.exit(1));
    };
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, endProgram);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.on('error', fail);
    child.on('close', (code) => {
      for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, endProgram);
      done({ code, output });
    });
  });
}

async function withLock(say, work) {
  const folder = join(root, '.muster');
  const lock = join(folder, 'prepare.lock');
  await mkdir(folder, { recursive: true }).catch((error) => {
    throw error.code === 'ENOSPC'
      ? diskFullError()
      : new StartupError(`The folder ${root} is not writable; Muster stores its build output there.`);
  });
  for (let tries = 0; ; tries += 1) {
    try {
      await mkdir(lock);
      await writeFile(join(lock, 'pid'), String(process.pid));
      break;
    } catch (error) {
      if (error.code === 'ENOSPC') throw diskFullError();
      if (error.code !== 'EEXIST') throw error;
      if (await isStaleLock(lock)) await rm(lock, { recursive: true, force: true });
      else {
        if (tries === 5) say('waiting for another start or test that is installing or building in this clone');
        await new Promise((resume) => setTimeout(resume, 200));
      }
    }
  }
  try {
    await work();
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
}

async function isStaleLock(lock) {
  const pid = Number(await readFile(join(lock, 'pid'), 'utf8').catch(() => '0'));
  if (!pid) return Date.now() - ((await stat(lock).catch(() => null))?.mtimeMs ?? 0) > 5000;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

async function readFreeBytes(folder) {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

function diskFullError() {
  return new StartupError(`The disk of ${root} is full; free some space and start again.`);
}
