// What has to be there before any of our own code can run: the dependencies and the compiled tree.
// Plain JavaScript without a dependency, because it is what a bare machine runs first.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { countInstalled, foldersOf, installLine } from './install-progress.mjs';
import { Phases } from './phases.mjs';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** One sentence for the newcomer, and nothing below it. */
export class Sorry extends Error {}

/** Installs and builds what is missing. Two runs in one clone wait for each other. */
export async function prepare(say, phases = new Phases(say)) {
  requireNode();
  await withLock(say, async () => {
    await phases.run('dependencies', () => install(say));
    const { build } = await import(pathToFileURL(join(root, 'tools/build/build.mjs')).href);
    const { compiled } = await phases.run('compiling', () => build().catch(failedBuild));
    if (compiled > 50) say(`compiled ${compiled} files`);
    if (compiled > 0 || !existsSync(join(root, 'dist/worker/muster-worker.js')))
      await phases.run('worker', buildWorker);
    const { buildConsole } = await import(pathToFileURL(join(root, 'tools/build/console.mjs')).href);
    if (await phases.run('console', () => buildConsole().catch(failedBuild))) say('built the console');
  });
}

/** The worker as one file, which the service hands out. */
function buildWorker() {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [join(root, 'apps/worker/one-file.mjs')], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    child.on('error', fail);
    child.on('exit', (code) => (code === 0 ? done() : fail(new Error('the worker could not be built'))));
  });
}

function failedBuild(error) {
  throw error.code === 'ENOSPC' ? diskFull() : error;
}

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  throw new Sorry(`Node ${process.versions.node} is too old for Muster; install Node 20.19 or newer.`);
}

async function install(say) {
  const lockfile = await readFile(join(root, 'package-lock.json'));
  // What is native among them comes prebuilt for every version of Node.
  const facts = `${process.platform} ${process.arch}\n`;
  const wanted = createHash('sha256').update(lockfile).update(facts).digest('hex');
  const stampFile = join(root, 'node_modules', '.muster-install');
  if ((await readFile(stampFile, 'utf8').catch(() => '')) === wanted) return;
  const folders = foldersOf(JSON.parse(lockfile));
  say(`installing about ${folders.length} packages with npm ci (once, a minute or two)`);
  const progress = showInstall(folders, say);
  // npm is the one that runs this script, where npm runs it.
  const npm = process.env.npm_execpath;
  const command = npm ? [process.execPath, npm] : ['npm'];
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code, output } = await run([...command, ...args]).finally(() => progress.end());
  if (code !== 0) {
    if (/ENOSPC|no space left/i.test(output) || (await freeBytes(root)) < 1024 * 1024) throw diskFull();
    const reason =
      output
        .trim()
        .split('\n')
        .find((line) => /npm (error|ERR)/.test(line)) ?? `npm ended with ${code}`;
    throw new Sorry(
      `The dependencies could not be installed (${reason.replace(/^npm (error|ERR!?) ?/, '').trim()}); run npm ci to see the whole output.`,
    );
  }
  await writeFile(stampFile, wanted);
}

/** One line that changes where somebody looks at it, and a new one now and then where it is a log. */
function showInstall(folders, say) {
  const seen = process.stdout.isTTY;
  const began = Date.now();
  let before = 0;
  const show = async () => {
    const count = await countInstalled(root, folders);
    const line = `${installLine(count, before, folders.length)}, ${Math.round((Date.now() - began) / 1000)} s`;
    before = count;
    if (seen) process.stdout.write(`\r\x1b[2K  ${line}`);
    else say(line);
  };
  const timer = setInterval(() => void show(), seen ? 1000 : 10_000);
  return {
    end: () => {
      clearInterval(timer);
      if (seen) process.stdout.write('\r\x1b[2K');
    },
  };
}

function run([command, ...args]) {
  return new Promise((done, fail) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    // Ended in the middle, it takes along what it started: half an installation must not go on behind its back.
    const end = (signal) => {
      child.kill(signal);
      child.once('close', () => process.exit(1));
    };
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, end);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.on('error', fail);
    child.on('close', (code) => {
      for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, end);
      done({ code, output });
    });
  });
}

async function withLock(say, work) {
  const folder = join(root, '.muster');
  const lock = join(folder, 'prepare.lock');
  await mkdir(folder, { recursive: true }).catch((error) => {
    throw error.code === 'ENOSPC'
      ? diskFull()
      : new Sorry(`The folder ${root} cannot be written; Muster stores its build there. Change its permissions.`);
  });
  for (let tries = 0; ; tries += 1) {
    try {
      await mkdir(lock);
      await writeFile(join(lock, 'pid'), String(process.pid));
      break;
    } catch (error) {
      if (error.code === 'ENOSPC') throw diskFull();
      if (error.code !== 'EEXIST') throw error;
      if (await isStale(lock)) await rm(lock, { recursive: true, force: true });
      else {
        if (tries === 5) say('waiting for another start or test that is installing or building in this folder');
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

async function isStale(lock) {
  const pid = Number(await readFile(join(lock, 'pid'), 'utf8').catch(() => '0'));
  if (!pid) return Date.now() - ((await stat(lock).catch(() => null))?.mtimeMs ?? 0) > 5000;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

async function freeBytes(folder) {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

function diskFull() {
  return new Sorry(`The disk of ${root} is full; free some space and start again.`);
}
