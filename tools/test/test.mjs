#!/usr/bin/env node
// `npm test`: every test, on a Postgres, a Redis and an object store of this run's own.
// `npm test -- libs/access` runs a part; what jest takes, this takes.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { prepare, root, Sorry } from '../start/prepare.mjs';

const require = createRequire(import.meta.url);
const jestProgram = join(root, 'node_modules/jest/bin/jest.js');
/** More files than these do not fail because of what ran beside them. */
const mostAgain = 5;

try {
  await prepare((line) => console.log(`  ${line}`));
} catch (error) {
  console.error(error instanceof Sorry ? `\nmuster: ${error.message}` : error);
  process.exit(1);
}
const args = process.argv.slice(2);
await bringBrowser(args);
process.exitCode = args.length > 0 ? await jest(args) : await everyTest();

/** For tests of pages, where some are asked for and the machine has none. */
async function bringBrowser(words) {
  const { env } = process;
  const { cachedChromium, installedChromium } = require(join(root, 'dist/tools/dev-stack/src/chromium.js'));
  if (await installedChromium(env)) return;
  const listed = spawnSync(process.execPath, [jestProgram, '--listTests', ...words], { cwd: root, encoding: 'utf8' });
  const files = listed.stdout.split('\n').filter((line) => line.endsWith('.spec.ts'));
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  if (!texts.some((text) => /chromium|console-lab/i.test(text))) return;
  const onProgress = (line) => console.log(`  ${line}`);
  const found = await cachedChromium({ dataDir: join(root, '.muster'), env, onProgress });
  if (typeof found === 'string') env.PATH = `${env.PATH}${delimiter}${dirname(found)}`;
  else
    console.log(
      `  no browser, so tests of pages are left out: ${found.join('; ')}. Install Chromium, or name it in CHROMIUM.`,
    );
}

/**
 * A file that failed beside all the others is run once more by itself, and the run says so: browsers and services of
 * many tests share a few cores. What chose its cases by chance is not: it has found something.
 */
async function everyTest() {
  const folder = await mkdtemp(join(tmpdir(), 'muster-failed-'));
  try {
    const list = join(folder, 'files');
    const code = await jest([], { MUSTER_TEST_FAILED: list });
    const failed = (await readFile(list, 'utf8').catch(() => '')).split('\n').filter(Boolean);
    if (code !== 1 || failed.length === 0 || failed.length > mostAgain) return code;
    const texts = await Promise.all(failed.map((file) => readFile(join(root, file), 'utf8')));
    if (texts.some((text) => /fast-check|seeded/.test(text))) return code;
    console.log(`\nfailed beside the others, and run again by themselves:\n  ${failed.join('\n  ')}\n`);
    const second = await jest(['--runInBand', '--runTestsByPath', ...failed]);
    if (second === 0) console.log(`\npassed only by themselves:\n  ${failed.join('\n  ')}`);
    return second;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function jest(words, env = {}) {
  const child = spawn(process.execPath, [jestProgram, ...words], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  const pass = (signal) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, pass);
  return new Promise((resolve) => {
    child.on('exit', (code) => {
      for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, pass);
      resolve(code ?? 2);
    });
  });
}
