// What has to be there before any of our own code can run: the dependencies and the compiled tree.
// Plain JavaScript without a dependency, because it is what a bare machine runs first.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** One sentence for the newcomer, and nothing below it. */
export class Sorry extends Error {}

/** Installs and builds what is missing. Two runs in one clone wait for each other. */
export async function prepare(say) {
  requireNode();
  await withLock(async () => {
    await install(say);
    const { build } = await import(pathToFileURL(join(root, 'tools/build/build.mjs')).href);
    const { compiled } = await build().catch((error) => {
      throw error.code === 'ENOSPC' ? diskFull() : error;
    });
    if (compiled > 50) say(`built ${compiled} files`);
    const { buildConsole } = await import(pathToFileURL(join(root, 'tools/build/console.mjs')).href);
    const fresh = await buildConsole().catch((error) => {
      throw error.code === 'ENOSPC' ? diskFull() : error;
    });
    if (fresh) say('built the console');
  });
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
  say('installing the dependencies (once, a minute or two)');
  const began = Date.now();
  // npm is the one that runs this script, where npm runs it.
  const npm = process.env.npm_execpath;
  const command = npm ? [process.execPath, npm] : ['npm'];
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code, output } = await run([...command, ...args]);
  if (code !== 0) {
    if (/ENOSPC|no space left/i.test(output) || (await freeBytes(root)) < 1024 * 1024) throw diskFull();
    const reason =
      output
        .trim()
        .split('\n')
        .find((line) => /npm (error|ERR)/.test(line)) ?? `npm ended with ${code}`;
    throw new Sorry(
      `The dependencies could not be installed (${reason.replace(/^npm (error|ERR!?) ?/, '').trim()}); run npm ci to see all of it.`,
    );
  }
  await writeFile(stampFile, wanted);
  say(`installed in ${Math.round((Date.now() - began) / 1000)} s`);
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

async function withLock(work) {
  const folder = join(root, '.muster');
  const lock = join(folder, 'prepare.lock');
  await mkdir(folder, { recursive: true }).catch((error) => {
    throw error.code === 'ENOSPC'
      ? diskFull()
      : new Sorry(`The folder ${root} cannot be written to; Muster keeps what it builds there.`);
  });
  for (;;) {
    try {
      await mkdir(lock);
      await writeFile(join(lock, 'pid'), String(process.pid));
      break;
    } catch (error) {
      if (error.code === 'ENOSPC') throw diskFull();
      if (error.code !== 'EEXIST') throw error;
      if (await isStale(lock)) await rm(lock, { recursive: true, force: true });
      else await new Promise((resume) => setTimeout(resume, 200));
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
  return new Sorry(`The disk that holds ${root} is full; make some room and start again.`);
}
