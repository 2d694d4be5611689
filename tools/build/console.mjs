#!/usr/bin/env node
// Builds the console into dist/apps/console if any of its sources have changed since the last build.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const sources = ['apps/console', 'libs/contracts/src', 'libs/sdk/src', 'k8s/safeguards.md', 'package-lock.json'];
const built = join(root, 'dist/apps/console/index.html');
const stampFile = join(root, 'dist/.cache/console-build');

/** Returns whether the console was built. */
export async function buildConsole() {
  const stamp = await computeStamp(sources);
  const lastStamp = await readFile(stampFile, 'utf8').catch(() => '');
  if (lastStamp === stamp && (await stat(built).catch(() => null))) return false;
  await runVite();
  await mkdir(dirname(stampFile), { recursive: true });
  await writeFile(stampFile, stamp);
  return true;
}

// Hashes names, sizes and dates. Reading all contents would take longer than the rest of a warm start.
async function computeStamp(paths) {
  const files = (await Promise.all(paths.map((path) => listFiles(join(root, path))))).flat().sort();
  const hash = createHash('sha256');
  for (const line of await Promise.all(files.map(describeFile))) hash.update(line);
  return hash.digest('hex');
}

async function describeFile(file) {
  const { size, mtimeMs } = await stat(file);
  return `${file} ${size} ${mtimeMs}\n`;
}

async function listFiles(path) {
  if ((await stat(path)).isFile()) return [path];
  const entries = await readdir(path, { withFileTypes: true });
  const nested = entries.map((entry) => (entry.name.endsWith('.spec.ts') ? [] : listFiles(join(path, entry.name))));
  return (await Promise.all(nested)).flat();
}

function runVite() {
  const command = [join(root, 'node_modules/vite/bin/vite.js'), 'build', 'apps/console', '--logLevel', 'warn'];
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, command, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.once('error', fail);
    child.once('close', (code) =>
      code === 0 ? done() : fail(new Error(`the console could not be built\n${output.trim()}`)),
    );
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const began = Date.now();
  const wasBuilt = await buildConsole();
  console.log(`console: ${wasBuilt ? 'built' : 'unchanged'}, ${Date.now() - began} ms`);
}
