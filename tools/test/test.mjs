#!/usr/bin/env node
// `npm test`: every test, on a Postgres, a Redis and an object store of this run's own.
// `npm test -- libs/access` runs a part; what jest takes, this takes.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { prepare, root, Sorry } from '../start/prepare.mjs';

try {
  await prepare((line) => console.log(`  ${line}`));
} catch (error) {
  console.error(error instanceof Sorry ? `\nmuster: ${error.message}` : error);
  process.exit(1);
}
const args = [join(root, 'node_modules/jest/bin/jest.js'), ...process.argv.slice(2)];
const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(signal ? 1 : code));
