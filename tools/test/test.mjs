#!/usr/bin/env node
// `npm test`: every test, on a Postgres, a Redis and an object store of this run's own.
// `npm test -- libs/access` runs a part; what jest takes, this takes.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare, root, Sorry } from '../start/prepare.mjs';

/** More files than these do not fail because of what ran beside them. */
const mostAgain = 5;

try {
  await prepare((line) => console.log(`  ${line}`));
} catch (error) {
  console.error(error instanceof Sorry ? `\nmuster: ${error.message}` : error);
  process.exit(1);
}
const args = process.argv.slice(2);
process.exitCode = args.length > 0 ? await jest(args) : await everyTest();

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
  const child = spawn(process.execPath, [join(root, 'node_modules/jest/bin/jest.js'), ...words], {
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
