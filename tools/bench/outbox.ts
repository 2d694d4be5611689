import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type BenchStack, onBenchStack } from './bench-stack';
import { Child } from './child';
import type { Question } from './outbox-load';
import { milliseconds, report } from './report';
import { sized } from './short';
import { inTurns, percentile, type Round } from './rounds';

// Measures the time from a commit to the handler. The baseline, the minimal program for comparison, is a committed row,
// BullMQ's add and a worker that deletes the row.

const producers = 32;

void onBenchStack(async (stack) => {
  const [baseline, subject] = [await start('outbox-baseline', stack), await start('outbox-subject', stack)];
  const together = (child: Child) => () => ask<Round>(child, { messages: sized(5000, 50), producers });
  const idle = async (child: Child) =>
    (await ask<{ latenciesMs: number[] }>(child, { oneByOne: sized(500, 5) })).latenciesMs;
  try {
    const compared = await inTurns(7, together(baseline), together(subject));
    const latency = [await idle(baseline), await idle(subject)].map(
      (values) => (percent: number) => milliseconds(percentile(values, percent)),
    );
    report({ name: 'outbox', target: 0.6, unit: 'messages' }, compared, [
      ['idle latency p50', latency[0]!(50), latency[1]!(50)],
      ['idle latency p99', latency[0]!(99), latency[1]!(99)],
    ]);
  } finally {
    await Promise.all([baseline.stop(), subject.stop()]);
  }
});

function start(program: string, { databaseUrl, redisUrl }: BenchStack): Promise<Child> {
  return Child.start(join(__dirname, `${program}.js`), {
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: String(producers),
    REDIS_URL: redisUrl,
    REDIS_PREFIX: program,
    PUBLIC_APP_URL: 'http://muster.bench',
    MASTER_KEYS: `bench:${randomBytes(32).toString('base64')}`,
  });
}

function ask<A>(child: Child, question: Question): Promise<A> {
  return child.ask(question);
}
