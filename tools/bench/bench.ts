import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

// `npm run bench [name…]`: the named benchmarks, or all, one after the other so that none disturbs another.

const benchmarks = [
  'read-resource',
  'outbox',
  'streams',
  'launch',
  'launch-latency',
  'reservation',
  'job-logs',
  'heartbeats',
  'schedules',
  'batch',
  'sweeps',
  'roi',
];

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !benchmarks.includes(name));
if (unknown.length) {
  console.error(`There is no benchmark ${unknown.join(', ')}; there are ${benchmarks.join(', ')}.`);
  process.exit(1);
}
for (const name of asked.length ? asked : benchmarks) {
  spawnSync(process.execPath, [join(__dirname, `${name}.js`)], { stdio: 'inherit' });
}
