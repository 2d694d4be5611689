// Before all test files: what they run against. Compiled code, because the end-to-end tests start real processes.
const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join, resolve } = require('node:path');
const { pathToFileURL } = require('node:url');

const root = resolve(__dirname, '../..');

module.exports = async function globalSetup() {
  const { build } = await import(pathToFileURL(join(root, 'tools/build/build.mjs')).href);
  await build();
  const { startTestStack } = require(join(root, 'dist/tools/test/test-stack.js'));
  const stack = await startTestStack(mkdtempSync(join(tmpdir(), 'muster-test-')));
  process.env.MUSTER_TEST_STACK = JSON.stringify(stack.facts);
  globalThis.__musterTestStack = stack;
};
