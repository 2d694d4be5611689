#!/usr/bin/env node
// `npm run soak -- --hours 1` runs jobs on real and simulated workers for this time while services, workers, Redis and
// Postgres are killed and restarted, clocks jump, Postgres and Redis have no room, and a standby replaces Postgres. It
// then checks that nothing was lost, doubled or billed twice. Without `--hours` it takes three minutes.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const { hours } = readOptions();
const seconds = hours === undefined ? undefined : Number(hours) * 3600;
if (seconds !== undefined && !(seconds >= 60 && seconds <= 31 * 86_400)) {
  console.error(`--hours must be a number from 0.02 to 744, as in --hours 1, and not "${hours}".`);
  process.exit(2);
}
const { status } = spawnSync(
  process.execPath,
  [join(root, 'tools/test/test.mjs'), 'apps/e2e/src/chaos/soak.long.spec.ts'],
  { cwd: root, stdio: 'inherit', env: { ...process.env, ...findTimesFor(seconds) } },
);
process.exitCode = status ?? 1;

/**
 * Returns the environment for a duration in seconds. The timeout is twenty minutes longer, because the waits after the
 * last run take up to a quarter of an hour.
 */
function findTimesFor(duration) {
  if (!duration) return {};
  return { SOAK_SECONDS: String(duration), MUSTER_TEST_HANGS_AFTER_MS: String((duration + 1200) * 1000) };
}

function readOptions() {
  try {
    return parseArgs({ options: { hours: { type: 'string' } } }).values;
  } catch (error) {
    console.error(`${error.message.split('. ')[0]}; usage: npm run soak -- --hours 1`);
    return process.exit(2);
  }
}
