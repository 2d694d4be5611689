import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type BenchStack, createDatabase, onBenchStack } from './bench-stack';
import { Costs } from './job-life/cost';
import { Runs, type RunsRound } from './job-life/runs';
import { startMuster, type Subject } from './job-life/subjects';
import { milliseconds, report } from './report';
import { inTurns, median, percentile } from './rounds';
import { sized } from './short';

// Runs with every trace recorded and sent to a collector, compared with the same service without a collector.

const inFlight = sized(32, 4);
const seconds = sized(5, 0.3);
const alone = sized(300, 3);

interface TracingRound extends RunsRound {
  /** Node's processor time for each run. */
  nodeMs: number;
}

void onBenchStack(async (stack) => {
  const collector = await startCollector();
  // The databases are copies of a template, which can be copied only while nothing is connected to it.
  const databases = [await createDatabase(stack, { migrated: true }), await createDatabase(stack, { migrated: true })];
  const costs = await Costs.open(stack);
  const start = (name: string, at: number, env: Record<string, string>): Promise<Subject> => {
    const own: BenchStack = { ...stack, databaseUrl: databases[at]! };
    return startMuster(name, { stack: own, inFlight }, false, { REDIS_PREFIX: `bench-${name}`, ...env });
  };
  const off = await start('off', 0, {});
  const on = await start('on', 1, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '500' });
  const sides = [off, on].map((subject) => new Runs(subject));
  const round = async (runs: Runs): Promise<TracingRound> => {
    const before = await costs.cpu(runs.subject);
    const result = await runs.together(inFlight, seconds);
    const after = await costs.cpu(runs.subject);
    return { ...result, nodeMs: (after.node - before.node) / result.executions };
  };
  try {
    const compared = await inTurns(
      5,
      () => round(sides[0]!),
      () => round(sides[1]!),
    );
    const [aloneOff, aloneOn] = [await sides[0]!.oneByOne(alone), await sides[1]!.oneByOne(alone)];
    // The exporter sends its last batch when the service stops.
    await on.stop();
    const node = (rounds: TracingRound[]) => milliseconds(median(rounds.map(({ nodeMs }) => nodeMs)));
    report({ name: 'tracing', target: 0.9, unit: 'runs' }, compared, [
      ['one alone p50', milliseconds(percentile(aloneOff, 50)), milliseconds(percentile(aloneOn, 50))],
      ['one alone p99', milliseconds(percentile(aloneOff, 99)), milliseconds(percentile(aloneOn, 99))],
      ['Node for a run', node(compared.baseline), node(compared.subject)],
      ['spans that arrived', '0', String(collector.spans())],
    ]);
  } finally {
    await Promise.all([off.stop(), on.stop()]);
    await costs.close();
    collector.stop();
  }
});

async function startCollector() {
  let spans = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      // Spans are counted without parsing, so that the collector takes as little of the machine as possible.
      spans += Buffer.concat(chunks).toString('latin1').split('"spanId"').length - 1;
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => spans,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
