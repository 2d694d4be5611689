// This test is long because it runs each benchmark in its short form.
// A short test of the same code: apps/standalone/src/run-cost/run-cost.spec.ts
import { cloneDatabase, isLongRun, readTestStack } from '@muster/testing';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { benchmarks } from './benchmarks';

const main = join(__dirname, '../../dist/tools/bench/bench.js');

/** The benchmarks with targets for the product run in every test run, all others in `npm run test:long`. */
const run = isLongRun() ? benchmarks : (['launch-latency', 'job-life', 'load'] as const);

/** Patterns of each benchmark's output. A value that is not a number, such as NaN, matches none of them. */
const figure = String.raw`\d[\d,]*(?:\.\d+)?`;
const buildComparisonPatterns = (name: string, unit: string) => [
  new RegExp(`^${name}: ${figure} of the baseline`, 'm'),
  new RegExp(`^  throughput +${figure} ${unit}/s +${figure} ${unit}/s$`, 'm'),
];
const buildTwoTimesPattern = (name: string) => new RegExp(`^  ${name} +${figure} ms +${figure} ms$`, 'm');
const buildCellsPattern = (name: string, count: number) =>
  new RegExp(`^  ${name}(?: +\\(?${figure}\\S*(?: (?:ms|%))?){${count}}$`, 'm');

const expected: Record<(typeof benchmarks)[number], RegExp[]> = {
  'read-resource': [...buildComparisonPatterns('read-resource', 'requests'), buildTwoTimesPattern('latency p99')],
  identity: [
    ...buildComparisonPatterns('identity', 'pages'),
    new RegExp(
      `^identity: sign-in: p50 ${figure} ms, p99 ${figure} ms; with 50 guesses a second p50 ${figure} ms, p99 ${figure} ms$`,
      'm',
    ),
    new RegExp(`^identity: p99 of a sign-in with guesses: ${figure} times \\(`, 'm'),
  ],
  outbox: [
    ...buildComparisonPatterns('outbox', 'messages'),
    buildTwoTimesPattern('idle latency p50'),
    buildTwoTimesPattern('idle latency p99'),
  ],
  streams: [
    ...buildComparisonPatterns('streams', 'deliveries'),
    buildTwoTimesPattern('latency p99'),
    new RegExp(`memory of a stream +${figure} KiB`),
  ],
  launch: [...buildComparisonPatterns('launch', 'launches'), buildTwoTimesPattern('latency p99')],
  'launch-latency': [
    new RegExp(`^launch-latency: p50 ${figure} times the baseline`, 'm'),
    new RegExp(`^launch-latency: p99 ${figure} times the baseline`, 'm'),
  ],
  reservation: [...buildComparisonPatterns('reservation', 'launches'), buildTwoTimesPattern('latency p99')],
  ask: [
    ...['a plain HTTP round trip', 'answer to worker, pushed', 'answer to worker, polled'].map(
      (name) => new RegExp(`^ask: ${name}: p50 ${figure} ms, p99 ${figure} ms`, 'm'),
    ),
    new RegExp(
      `^ask: live screen: (?:(?!0\\.0)${figure} images/s, ${figure} kB/s; CPU of the worker ${figure} %|skipped)`,
      'm',
    ),
  ],
  'job-logs': buildComparisonPatterns('job-logs', 'entries'),
  heartbeats: buildComparisonPatterns('heartbeats', 'heartbeats'),
  schedules: [/^schedules: a scan of 400 takes [\d.]+ times one of 200/m, /launches the 100: [\d.]+ ms to [\d.]+ ms$/m],
  batch: ['JSON', 'CSV', 'cancel'].map((name) => new RegExp(`^batch of 20 rows, ${name}: ${figure} ms; .*held`, 'm')),
  sweeps: ['idle agents', 'stale runs', 'untouched jobs'].map(
    (name) => new RegExp(`^  ${name} +${figure} ms +${figure} ms +${figure} times`, 'm'),
  ),
  placement: [
    new RegExp(
      `^  an agent that came free takes a waiting job, 2 at once: named ${figure} ms.*; ratio ${figure}, `,
      'm',
    ),
    new RegExp(`^  a launched job gets an idle agent: statements [1-9]\\d* and [1-9]\\d*, rows read `, 'm'),
    new RegExp(`^  a sweep while no agent is idle: ${figure} ms, statements [1-9]\\d*, rows read [1-9]`, 'm'),
    ...['freed', 'launched', 'sweep'].map(
      (name) => new RegExp(`^placement: rows read .*, ${name}: ${figure} times`, 'm'),
    ),
  ],
  roi: [
    new RegExp(`^roi: a year of 200 claims takes ${figure} times one of 100 claims`, 'm'),
    new RegExp(`^roi from raw rows: ${figure} times`, 'm'),
  ],
  idle: [
    new RegExp(`^  memory +${figure} MiB`, 'm'),
    new RegExp(`^  CPU +${figure} %`, 'm'),
    new RegExp(`^ +postgres +${figure} MiB +${figure} %`, 'm'),
    new RegExp(`^ +redis-server +${figure} MiB +${figure} %`, 'm'),
  ],
  'job-life': [
    ...['muster', 'bare', 'bare-durable', 'muster, six apps'].map((name) => buildCellsPattern(name, 15)),
    new RegExp(`^  ${figure} flushes, target 4: `, 'm'),
  ],
  imaging: [
    new RegExp(`^imaging: (?:${figure} of the baseline|skipped, Pillow is not available)`, 'm'),
    new RegExp(
      `^  memory of the worker and its Python, by quarters: ${figure}, ${figure}, ${figure}, ${figure} MiB|skipped`,
      'm',
    ),
  ],
  growth: ['/api/jobs', 'POST /api/jobs/launch', 'SSE resume', 'dispatch:', 'loop: sweep dispatch'].map(
    (name) => new RegExp(`^ *(?:${figure} +){4}(?:${figure} +)?${name}`, 'm'),
  ),
  'chat-stream': [
    new RegExp(`^chat-stream, one at a time: first token p50 ${figure} ms, p99 ${figure} ms after`, 'm'),
    new RegExp(`^chat-stream, 8 at once: first token p50 ${figure} ms, p99 ${figure} ms after`, 'm'),
  ],
  tracing: [
    ...buildComparisonPatterns('tracing', 'runs'),
    buildTwoTimesPattern('one alone p50'),
    buildTwoTimesPattern('Node for a run'),
    /spans that arrived +0 +[1-9]\d*$/m,
  ],
  load: [
    ...['heartbeat', 'launch', 'GET a run', 'launch to end'].map(
      (name) => new RegExp(`^  ${name} +[1-9]\\d* +0(?: +${figure} ms){3}$`, 'm'),
    ),
    /^ {2}lost: 0 of 12 runs, 0 of their ends on streams, 0 streams; failed: 0$/m,
    new RegExp(`^  memory of the service, by quarters: ${figure}, ${figure}, ${figure}, ${figure} MiB`, 'm'),
  ],
  sizing: [
    ...['idleSecond', 'heartbeat', 'run', 'step', 'logBatch'].map(
      (kind) => new RegExp(`^  ${kind}(?: +${figure}){8}$`, 'm'),
    ),
    new RegExp(`^  on disk: ${figure} bytes per run, ${figure} per step, ${figure} per log line$`, 'm'),
    ...['cores of the apps', 'cores of Postgres', 'MiB added on disk', 'MiB of Redis'].map(
      (name) => new RegExp(`^  ${name}(?: +${figure}){2}  off by ${figure} %, target 30: `, 'm'),
    ),
  ],
  backup: [
    /^backup of 300 runs, 600 timeline entries and 10 objects:/m,
    new RegExp(`^  backup: ${figure} s`, 'm'),
    new RegExp(`^  restore: ${figure} s`, 'm'),
    new RegExp(
      `^  launches: p99 ${figure} ms before and ${figure} ms during the backup \\([1-9]\\d* launches, 0 failed\\)`,
      'm',
    ),
  ],
  migrations: [
    new RegExp(`^  \\w+\\d{13} +${figure} s; longest wait ${figure} ms \\(\\w+\\): (?:not )?met$`, 'm'),
    /^migrations: no statement waits over 500 ms: (?:met|not met by \d of 2)$/m,
  ],
  console: ['Home', 'Runs', 'A run', 'An agent'].map(
    (name) =>
      new RegExp(
        `^  ${name} +${figure} ms +${figure} ms +${figure} +${figure} kB +(?:not )?met$|^console: skipped`,
        'm',
      ),
  ),
};

describe('benchmarks with --short', () => {
  it.each(run)(
    'the benchmark %s prints its figures',
    async (name) => {
      const database = await cloneDatabase();
      try {
        const { stdout } = await promisify(execFile)(process.execPath, [main, '--short', name], {
          env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...getServersFor(name, database.url) },
          timeout: 150_000,
        });
        for (const pattern of expected[name]) expect(stdout).toMatch(pattern);
        if (name === 'job-life') expectPeers(stdout);
      } finally {
        await database.drop();
      }
    },
    160_000,
  );

  it('an unknown benchmark name makes the program list the benchmarks', async () => {
    const unknown = promisify(execFile)(process.execPath, [main, 'nothing']);
    await expect(unknown).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('read-resource, outbox') });
  });
});

/** `idle` and `console` run without these, because they measure a complete `npm start`. */
function getServersFor(name: string, databaseUrl: string): Record<string, string> {
  return name === 'idle' || name === 'console'
    ? {}
    : { DATABASE_URL: databaseUrl, REDIS_URL: readTestStack().redisUrl };
}

/** If the peers cannot be installed, the benchmark prints the reason instead. */
function expectPeers(stdout: string): void {
  if (/^job-life: the peers are skipped because they could not be installed: .+/m.test(stdout)) return;
  for (const peer of ['dbos', 'graphile-worker', 'pg-boss']) expect(stdout).toMatch(buildCellsPattern(peer, 15));
}
