import { join } from 'node:path';
import { runOnBenchStack } from './bench-stack';
import { makeBenchTenant, startApp } from './bench-tenant';
import { Child } from './child';
import { runPostLoad } from './run-post-load';
import { printReport } from './print-report';
import { runInTurns } from './rounds';

// Measures heartbeats of 1,000 agents through the real ingest app. The baseline, the minimal program for comparison, is
// Fastify with one UPDATE.

void runOnBenchStack(async (stack) => {
  const tenant = await makeBenchTenant(stack, 1000);
  const ingest = await startApp('ingest', stack);
  const baseline = await Child.start(join(__dirname, 'jobs-baseline.js'), {
    DATABASE_URL: stack.databaseUrl,
    DATABASE_POOL_SIZE: '10',
  });
  let at = 0;
  const postHeartbeats = (url: string) =>
    runPostLoad(url, {
      path: '/api/agent/heartbeat',
      headers: { 'x-api-key': tenant.workerKey },
      nextBody: () => {
        const n = at++ % tenant.agentIds.length;
        return {
          agentId: tenant.agentIds[n],
          bootId: 'boot',
          vmState: 'running',
          healthy: true,
          runningJobIds: [tenant.jobIds[n]],
        };
      },
      connections: 32,
      seconds: 5,
    });
  try {
    const compared = await runInTurns(
      5,
      () => postHeartbeats(baseline.url),
      () => postHeartbeats(ingest.url),
    );
    printReport({ name: 'heartbeats', target: 0.5, unit: 'heartbeats' }, compared, []);
  } finally {
    await Promise.all([ingest.stop(), baseline.stop()]);
  }
});
