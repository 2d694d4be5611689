import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { benchmarks } from './benchmarks';

// `npm run bench [name…]` runs the specified benchmarks, or all, one after the other so that they do not disturb each
// other. `-- --short` only checks that they work, with little data.

const args = process.argv.slice(2);
const requested = args.filter((arg) => arg !== '--short');
const env = { ...process.env, ...(args.includes('--short') ? { BENCH_SHORT: 'true' } : {}) };
let failed = false;
const unknown = requested.filter((name) => !(benchmarks as readonly string[]).includes(name));
if (unknown.length) {
  console.error(`Unknown benchmark: ${unknown.join(', ')}. Choose from: ${benchmarks.join(', ')}.`);
  process.exit(1);
}
for (const name of requested.length ? requested : benchmarks) {
  const { status } = spawnSync(process.execPath, [join(__dirname, `${name}.js`)], { stdio: 'inherit', env });
  failed ||= status !== 0;
}
// A missed target does not fail the command, except for figures that would be stored (sizing). A benchmark that cannot
// run fails the command.
process.exitCode = failed ? 1 : 0;
