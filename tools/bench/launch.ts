import { join } from 'node:path';
import { onBenchStack } from './bench-stack';
import { makeBenchTenant, startApp } from './bench-tenant';
import { Child } from './child';
import { type HttpRound, postLoad } from './http-load';
import { milliseconds, report } from './report';
import { inTurns, median } from './rounds';

// Measures launches through the real gateway. The baseline, the minimal program for comparison, is Fastify with pg,
// which insert the same rows.

void onBenchStack(async (stack) => {
  const tenant = await makeBenchTenant(stack, 200);
  const gateway = await startApp('gateway', stack);
  const baseline = await Child.start(join(__dirname, 'jobs-baseline.js'), {
    DATABASE_URL: stack.databaseUrl,
    DATABASE_POOL_SIZE: '10',
  });
  let at = 0;
  const load = (url: string) =>
    postLoad(url, {
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
    const compared = await inTurns(
      5,
      () => load(baseline.url),
      () => load(gateway.url),
    );
    const latency = (rounds: HttpRound[], which: 'p50' | 'p99') => milliseconds(median(rounds.map((r) => r[which])));
    report({ name: 'launch', target: 0.7, unit: 'launches' }, compared, [
      ['latency p50', latency(compared.baseline, 'p50'), latency(compared.subject, 'p50')],
      ['latency p99', latency(compared.baseline, 'p99'), latency(compared.subject, 'p99')],
    ]);
  } finally {
    await Promise.all([gateway.stop(), baseline.stop()]);
  }
});
