import { Client } from 'pg';
import { runOnBenchStack } from './bench-stack';
import { makeBenchTenant, startApp } from './bench-tenant';
import { type HttpRound, runPostLoad } from './run-post-load';
import { formatMilliseconds, printReport } from './print-report';
import { runInTurns, computeMedian } from './rounds';

// Launches of an organization whose usage is far below its limits, compared with launches of an organization without
// limits.

void runOnBenchStack(async (stack) => {
  const [unlimited, limited] = [await makeBenchTenant(stack, 200), await makeBenchTenant(stack, 200)];
  const client = new Client({ connectionString: stack.databaseUrl });
  // If the benchmark fails, the stack stops before this connection is closed.
  client.on('error', () => undefined);
  await client.connect();
  await client.query(
    `UPDATE organization_settings SET monthly_run_limit = 100000000, monthly_spend_limit_micros = 1000000000000000
     WHERE organization_id = $1`,
    [limited.organizationId],
  );
  const gateway = await startApp('gateway', stack);
  let at = 0;
  const postLaunches = async (tenant: typeof limited) => {
    // Open jobs count against the limits, so each round starts with the same number: one running job for each agent.
    await client.query(`DELETE FROM job WHERE status = 'queued'`);
    return runPostLoad(gateway.url, {
      path: '/api/jobs/launch',
      headers: { 'x-api-key': tenant.apiKey },
      nextBody: () => ({
        workflowId: tenant.workflowId,
        agentId: tenant.agentIds[at++ % tenant.agentIds.length],
        variables: { CLAIM_ID: `C-${at}` },
        maxCostUsd: 2.5,
      }),
      connections: 32,
      seconds: 5,
    });
  };
  try {
    const compared = await runInTurns(
      5,
      () => postLaunches(unlimited),
      () => postLaunches(limited),
    );
    const computeMedianLatency = (rounds: HttpRound[], which: 'p50' | 'p99') =>
      formatMilliseconds(computeMedian(rounds.map((r) => r[which])));
    printReport({ name: 'reservation', target: 0.9, unit: 'launches' }, compared, [
      ['latency p50', computeMedianLatency(compared.baseline, 'p50'), computeMedianLatency(compared.subject, 'p50')],
      ['latency p99', computeMedianLatency(compared.baseline, 'p99'), computeMedianLatency(compared.subject, 'p99')],
    ]);
  } finally {
    await Promise.all([gateway.stop(), client.end()]);
  }
});
