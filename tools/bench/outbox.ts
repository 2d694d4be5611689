import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type BenchStack, runOnBenchStack } from './bench-stack';
import { Child } from './child';
import type { Question } from './outbox-load';
import { formatMilliseconds, printReport } from './print-report';
import { chooseSize } from './short';
import { runInTurns, computePercentile, type Round } from './rounds';

// Measures the time from a commit to the handler. The baseline, the minimal program for comparison, is a committed row,
// BullMQ's add and a worker that deletes the row.

const producers = 32;

void runOnBenchStack(async (stack) => {
  const [baseline, subject] = [
    await startProgram('outbox-baseline', stack),
    await startProgram('outbox-subject', stack),
  ];
  const createRoundQuestion = (child: Child) => () =>
    askChild<Round>(child, { messages: chooseSize(5000, 50), producers });
  const measureIdleLatency = async (child: Child) =>
    (await askChild<{ latenciesMs: number[] }>(child, { oneByOne: chooseSize(500, 5) })).latenciesMs;
  try {
    const compared = await runInTurns(7, createRoundQuestion(baseline), createRoundQuestion(subject));
    const latency = [await measureIdleLatency(baseline), await measureIdleLatency(subject)].map(
      (values) => (percent: number) => formatMilliseconds(computePercentile(values, percent)),
    );
    printReport({ name: 'outbox', target: 0.6, unit: 'messages' }, compared, [
      ['idle latency p50', latency[0]!(50), latency[1]!(50)],
      ['idle latency p99', latency[0]!(99), latency[1]!(99)],
    ]);
  } finally {
    await Promise.all([baseline.stop(), subject.stop()]);
  }
});

function startProgram(program: string, { databaseUrl, redisUrl }: BenchStack): Promise<Child> {
  return Child.start(join(__dirname, `${program}.js`), {
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: String(producers),
    REDIS_URL: redisUrl,
    REDIS_PREFIX: program,
    PUBLIC_APP_URL: 'http://muster.bench',
    MASTER_KEYS: `bench:${randomBytes(32).toString('base64')}`,
  });
}

function askChild<A>(child: Child, question: Question): Promise<A> {
  return child.askQuestion(question);
}
