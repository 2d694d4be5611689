import { join } from 'node:path';
import { runOnBenchStack } from './bench-stack';
import { makeBenchTenant, startApp } from './bench-tenant';
import { Child } from './child';
import { type HttpRound, runPostLoad } from './run-post-load';
import { formatMilliseconds, printReport } from './print-report';
import { runInTurns, computeMedian } from './rounds';

// Measures launches through the real gateway. The baseline, the minimal program for comparison, uses only Fastify and
// pg to insert the same rows.

void runOnBenchStack(async (stack) => {
  const tenant = await makeBenchTenant(stack, 200);
  const gateway = await startApp('gateway', stack);
  const baseline = await Child.start(join(__dirname, 'jobs-baseline.js'), {
    DATABASE_URL: stack.databaseUrl,
    DATABASE_POOL_SIZE: '10',
  });
  let at = 0;
  const postLaunches = (url: string) =>
    runPostLoad(url, {
      path: '/api/jobs/launch',
      headers: { 'x-api-key': tenant.apiKey },
      nextBody: () => ({
        workflowId: tenant.workflowId,
        agentId: tenant.agentIds[at++ % tenant.agentIds.length],
        variables: { CLAIM_ID: `C-${at}` },
      }),
      connections: 32,
      seconds: 5,
    });
  try {
    const compared = await runInTurns(
      5,
      () => postLaunches(baseline.url),
      () => postLaunches(gateway.url),
    );
    const computeMedianLatency = (rounds: HttpRound[], which: 'p50' | 'p99') =>
      formatMilliseconds(computeMedian(rounds.map((r) => r[which])));
    printReport({ name: 'launch', target: 0.7, unit: 'launches' }, compared, [
      ['latency p50', computeMedianLatency(compared.baseline, 'p50'), computeMedianLatency(compared.subject, 'p50')],
      ['latency p99', computeMedianLatency(compared.baseline, 'p99'), computeMedianLatency(compared.subject, 'p99')],
    ]);
  } finally {
    await Promise.all([gateway.stop(), baseline.stop()]);
  }
});
