#!/usr/bin/env node
// `npm start`: from a bare clone to a running service.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Phases } from './phases.mjs';
import { prepare, root, StartupError } from './prepare.mjs';

const say = (line) => console.log(`  ${line}`);

try {
  const phases = new Phases(say);
  await prepare(say, phases);
  const { startCommand } = createRequire(import.meta.url)(join(root, 'dist/tools/start/start-command.js'));
  await startCommand({ args: process.argv.slice(2), env: process.env, say, root, phases });
} catch (error) {
  const known = error instanceof StartupError || error?.name === 'DevStackError' || error?.name === 'StartError';
  console.error(known ? `\nmuster: ${error.message}` : error);
  process.exit(1);
}
