#!/usr/bin/env node
// `npm test` runs the short suite on a separate Postgres, Redis and object store.
// `npm test -- libs/access` runs a part of it; `npm test -- --changed` runs the tests of all projects that the changes
// since main can affect.
// Every option of Jest is accepted. A path that contains `.long.` runs that file as well.
// `npm run test:long` runs the files that are long by their name (`*.long.spec.ts`) and those that call `chooseSize` or
// `isLongRun`, in their long form, and then the in-process suites under other dates (other-dates.mjs).
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { prepareStart, root, StartupError } from '../start/prepare.mjs';
import { runSuitesUnderOtherDates } from './other-dates.mjs';

const require = createRequire(import.meta.url);
const jestProgram = join(root, 'node_modules/jest/bin/jest.js');

try {
  await prepareStart((line) => console.log(`  ${line}`));
} catch (error) {
  console.error(error instanceof StartupError ? `\nmuster: ${error.message}` : error);
  process.exit(1);
}
const args = process.argv.slice(2);
const jestArgs = buildJestArguments(args);
if (jestArgs) {
  await provideBrowser(jestArgs);
  process.exitCode = await runJest(jestArgs);
  // Only a run of the whole long suite also runs the suites under other dates.
  if (args.length === 1 && args[0] === '--long')
    process.exitCode = (await runSuitesUnderOtherDates()) || process.exitCode;
} else console.log('the changes affect no test\n\n0 passed, 0 failed');

/** Returns the arguments for Jest; null if no file is to be run. */
function buildJestArguments(args) {
  const rest = args.filter((arg) => !['--changed', '--long'].includes(arg));
  if (args.includes('--long') || args.some((arg) => arg.includes('.long.')))
    process.env.MUSTER_TEST_LONG_FILES = 'true';
  if (args.includes('--long')) {
    process.env.MUSTER_TEST_LONG = 'true';
    const files = listSpecFiles(rest.filter((arg) => !arg.startsWith('-')));
    const options = rest.filter((arg) => arg.startsWith('-'));
    return [
      '--runTestsByPath',
      ...options,
      ...files.filter((file) => isLongSpec(file) || /\b(chooseSize|isLongRun)\(/.test(readText(file))),
    ];
  }
  if (!args.includes('--changed')) return args;
  const folders = findChangedFolders();
  console.log(`  changed, or affected by a change: ${folders.join(', ') || 'nothing'}`);
  return folders.length > 0 ? [...rest, ...folders.map((folder) => `${folder}/`)] : null;
}

/**
 * The folders of the projects that a change since main, committed or not, can affect. A change of any lib affects
 * libs/testing, which uses every lib, but does not thereby affect every test.
 */
function findChangedFolders() {
  const runGit = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);
  const since = runGit('merge-base', 'HEAD', 'main')[0];
  const files = [...runGit('diff', '--name-only', since), ...runGit('ls-files', '--others', '--exclude-standard')];
  const { nodes, dependencies } = readProjectGraph();
  const shared = files.some((file) => file.startsWith('libs/testing/') || !/^(apps|libs|tools)\//.test(file));
  if (shared) return Object.values(nodes).map(({ data }) => data.root);
  const affected = new Set(
    Object.keys(nodes).filter((name) => files.some((file) => file.startsWith(`${nodes[name].data.root}/`))),
  );
  for (const name of affected) {
    for (const [user, uses] of Object.entries(dependencies))
      if (name !== 'testing' && uses.some(({ target }) => target === name)) affected.add(user);
  }
  return [...affected].map((name) => nodes[name].data.root);
}

function readProjectGraph() {
  const nx = join(root, 'node_modules/nx/bin/nx.js');
  const folder = mkdtempSync(join(tmpdir(), 'muster-graph-'));
  try {
    const file = join(folder, 'graph.json');
    execFileSync(process.execPath, [nx, 'graph', `--file=${file}`], { cwd: root, stdio: 'ignore' });
    return JSON.parse(readFileSync(file, 'utf8')).graph;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Downloads a browser if tests of pages are to be run and the machine has no browser. */
async function provideBrowser(args) {
  const { env } = process;
  const { findOrFetchChromium, findInstalledChromium } = require(join(root, 'dist/tools/dev-stack/src/chromium.js'));
  if (await findInstalledChromium(env)) return;
  if (!listSpecFiles(args).some((file) => /chromium|console-fixture/i.test(readText(file)))) return;
  const onProgress = (line) => console.log(`  ${line}`);
  const found = await findOrFetchChromium({ dataDir: join(root, '.muster'), env, onProgress });
  if (typeof found === 'string') env.PATH = `${env.PATH}${delimiter}${dirname(found)}`;
  else
    console.log(
      `  no browser, so tests of pages are skipped: ${found.join('; ')}. Install Chromium, or set CHROMIUM to its path.`,
    );
}

function listSpecFiles(args) {
  const listed = spawnSync(process.execPath, [jestProgram, '--listTests', ...args], { cwd: root, encoding: 'utf8' });
  return listed.stdout.split('\n').filter((line) => line.endsWith('.spec.ts'));
}

function isLongSpec(file) {
  return file.endsWith('.long.spec.ts');
}

function readText(file) {
  return readFileSync(file, 'utf8');
}

/** Runs Jest with a folder for temporary files of its own, which is removed afterwards with all that tests left in it. */
function runJest(args) {
  const temporary = mkdtempSync(join(tmpdir(), 'muster-test-'));
  // Workers with another account reach their folders through this one.
  chmodSync(temporary, 0o711);
  const child = spawn(process.execPath, [jestProgram, ...args], {
    cwd: root,
    env: { ...process.env, TMPDIR: temporary },
    stdio: 'inherit',
  });
  const runPass = (signal) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, runPass);
  return new Promise((resolve) => {
    child.on('exit', (code) => {
      for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, runPass);
      rmSync(temporary, { recursive: true, force: true });
      resolve(code ?? 2);
    });
  });
}
