// Starts what all test files run against. Uses the compiled code, because the end-to-end tests start real processes.
const { execFileSync } = require('node:child_process');
const { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { delimiter, dirname, join, resolve } = require('node:path');
const { pathToFileURL } = require('node:url');

const root = resolve(__dirname, '../..');

module.exports = async function globalSetup() {
  putRealPythonFirstInPath();
  const { build } = await import(pathToFileURL(join(root, 'tools/build/build.mjs')).href);
  await build();
  const { startTestStack } = require(join(root, 'dist/tools/test/test-stack.js'));
  const stack = await startTestStack(makeDataFolder());
  process.env.MUSTER_TEST_STACK = JSON.stringify(stack.facts);
  globalThis.__musterTestStack = stack;
};

/** Creates a folder for this run. Folders of killed runs are removed, because they may take up memory. */
function makeDataFolder() {
  const parent = chooseDataFolder();
  for (const name of readdirSync(parent)) {
    const pid = /^muster-test-(\d+)-/.exec(name)?.[1];
    if (pid && !existsSync(`/proc/${pid}`)) rmSync(join(parent, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(parent, `muster-test-${process.pid}-`));
}

/**
 * A folder in memory if the machine has enough of it. Each test file clones a database of about 900 files, and creating
 * them on a disk takes ten times the processor time.
 */
function chooseDataFolder() {
  const memory = '/dev/shm';
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= 6 * 1024 ** 3 ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}

/**
 * With a version manager such as pyenv, python3 is a shell script that takes longer than most of the scripts that tests
 * run.
 */
function putRealPythonFirstInPath() {
  const { env } = process;
  try {
    const program = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();
    env.PATH = [dirname(program), env.PATH].join(delimiter);
  } catch {
    // If Python is missing, the tests that run scripts fail with a message that says so.
  }
}
