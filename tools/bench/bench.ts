import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { benchmarks } from './benchmarks';

// `npm run bench [name…]`: the named benchmarks, or all, one after the other so that none disturbs another. With
// `-- --short` they only prove that they work, on little.

const given = process.argv.slice(2);
const asked = given.filter((word) => word !== '--short');
const env = { ...process.env, ...(given.includes('--short') ? { BENCH_SHORT: 'true' } : {}) };
let failed = false;
const unknown = asked.filter((name) => !(benchmarks as readonly string[]).includes(name));
if (unknown.length) {
  console.error(`There is no benchmark ${unknown.join(', ')}; there are ${benchmarks.join(', ')}.`);
  process.exit(1);
}
for (const name of asked.length ? asked : benchmarks) {
  const { status } = spawnSync(process.execPath, [join(__dirname, `${name}.js`)], { stdio: 'inherit', env });
  failed ||= status !== 0;
}
// A goal that is not met is no failure; a benchmark that doesn't run is one.
process.exitCode = failed ? 1 : 0;
