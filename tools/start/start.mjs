#!/usr/bin/env node
// `npm start`: from a bare clone to a running service.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Phases } from './phases.mjs';
import { prepareStart, root, StartupError } from './prepare.mjs';

const printLine = (line) => console.log(`  ${line}`);

try {
  const phases = new Phases(printLine);
  await prepareStart(printLine, phases);
  const { runStartCommand } = createRequire(import.meta.url)(join(root, 'dist/tools/start/start-command.js'));
  await runStartCommand({ args: process.argv.slice(2), env: process.env, say: printLine, root, phases });
} catch (error) {
  const known = error instanceof StartupError || error?.name === 'DevStackError' || error?.name === 'StartError';
  console.error(known ? `\nmuster: ${error.message}` : error);
  process.exit(1);
}
