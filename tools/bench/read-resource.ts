import autocannon from 'autocannon';
import { generateApiKey } from '@muster/access';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type BenchStack, runOnBenchStack } from './bench-stack';
import { Child } from './child';
import { formatMilliseconds, printReport } from './print-report';
import { runInTurns, computeMedian, type Round } from './rounds';
import { chooseSize } from './short';

// Measures an authenticated read through the real gateway. The baseline, the minimal program for comparison, is Fastify
// with pg.

const path = '/api/organization/settings';
const poolSize = '10';

interface HttpRound extends Round {
  p50: number;
  p99: number;
}

void runOnBenchStack(async (stack) => {
  const { secret } = generateApiKey();
  const gateway = await startGateway(stack, secret);
  const baseline = await Child.start(join(__dirname, 'read-resource-baseline.js'), {
    DATABASE_URL: stack.databaseUrl,
    DATABASE_POOL_SIZE: poolSize,
  });
  try {
    const compared = await runInTurns(
      7,
      () => getLoad(baseline.url, {}),
      () => getLoad(gateway.url, { 'x-api-key': secret }),
    );
    const computeMedianLatency = (rounds: HttpRound[], which: 'p50' | 'p99') =>
      formatMilliseconds(computeMedian(rounds.map((r) => r[which])));
    printReport({ name: 'read-resource', target: 0.7, unit: 'requests' }, compared, [
      ['latency p50', computeMedianLatency(compared.baseline, 'p50'), computeMedianLatency(compared.subject, 'p50')],
      ['latency p99', computeMedianLatency(compared.baseline, 'p99'), computeMedianLatency(compared.subject, 'p99')],
    ]);
  } finally {
    await Promise.all([gateway.stop(), baseline.stop()]);
  }
});

/** Starts a gateway as in production, except for a rate limit that a benchmark would exceed. */
function startGateway({ databaseUrl, redisUrl }: BenchStack, apiKey: string): Promise<Child> {
  return Child.start(join(__dirname, '../../apps/gateway/src/main.js'), {
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: poolSize,
    REDIS_URL: redisUrl,
    PUBLIC_APP_URL: 'http://muster.bench',
    MASTER_KEYS: `bench:${randomBytes(32).toString('base64')}`,
    PORT: '0',
    RATE_LIMIT_PER_MINUTE: '100000000',
    BOOTSTRAP_ORGANIZATION: 'Bench',
    BOOTSTRAP_API_KEY: apiKey,
  });
}

async function getLoad(url: string, headers: Record<string, string>): Promise<HttpRound> {
  const result = await autocannon({ url: `${url}${path}`, headers, connections: 32, duration: chooseSize(5, 1) });
  if (result.non2xx + result.errors > 0) throw new Error(`${url} did not answer every request with 200`);
  return { perSecond: result['2xx'] / result.duration, p50: result.latency.p50, p99: result.latency.p99 };
}
