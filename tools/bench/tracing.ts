import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type BenchStack, createDatabase, runOnBenchStack } from './bench-stack';
import { Costs } from './job-life/cost';
import { Runs, type RunsRound } from './job-life/runs';
import { startMuster, type Subject } from './job-life/subjects';
import { formatMilliseconds, printReport } from './print-report';
import { runInTurns, computeMedian, computePercentile } from './rounds';
import { chooseSize } from './short';

// Runs with every trace recorded and sent to a collector, compared with the same service without a collector.

const inFlight = chooseSize(32, 4);
const seconds = chooseSize(5, 0.3);
const alone = chooseSize(300, 3);

interface TracingRound extends RunsRound {
  /** Node's processor time for each run. */
  nodeMs: number;
}

void runOnBenchStack(async (stack) => {
  const collector = await startCollector();
  // The databases are copies of a template, which can be copied only while nothing is connected to it.
  const databases = [await createDatabase(stack, { migrated: true }), await createDatabase(stack, { migrated: true })];
  const costs = await Costs.open(stack);
  const startSubject = (name: string, at: number, env: Record<string, string>): Promise<Subject> => {
    const own: BenchStack = { ...stack, databaseUrl: databases[at]! };
    return startMuster(name, { stack: own, inFlight }, false, { REDIS_PREFIX: `bench-${name}`, ...env });
  };
  const off = await startSubject('off', 0, {});
  const on = await startSubject('on', 1, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '500',
  });
  const sides = [off, on].map((subject) => new Runs(subject));
  const measureRound = async (runs: Runs): Promise<TracingRound> => {
    const before = await costs.readCpu(runs.subject);
    const result = await runs.runTogether(inFlight, seconds);
    const after = await costs.readCpu(runs.subject);
    return { ...result, nodeMs: (after.node - before.node) / result.executions };
  };
  try {
    const compared = await runInTurns(
      5,
      () => measureRound(sides[0]!),
      () => measureRound(sides[1]!),
    );
    const [aloneOff, aloneOn] = [await sides[0]!.runOneByOne(alone), await sides[1]!.runOneByOne(alone)];
    // The exporter sends its last batch when the service stops.
    await on.stop();
    const formatMedianNodeCpu = (rounds: TracingRound[]) =>
      formatMilliseconds(computeMedian(rounds.map(({ nodeMs }) => nodeMs)));
    printReport({ name: 'tracing', target: 0.9, unit: 'runs' }, compared, [
      [
        'one alone p50',
        formatMilliseconds(computePercentile(aloneOff, 50)),
        formatMilliseconds(computePercentile(aloneOn, 50)),
      ],
      [
        'one alone p99',
        formatMilliseconds(computePercentile(aloneOff, 99)),
        formatMilliseconds(computePercentile(aloneOn, 99)),
      ],
      ['Node for a run', formatMedianNodeCpu(compared.baseline), formatMedianNodeCpu(compared.subject)],
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
