import { Client } from 'pg';
import { onBenchStack } from './bench-stack';
import { makeBenchTenant, startApp } from './bench-tenant';
import { type HttpRound, postLoad } from './http-load';
import { milliseconds, report } from './report';
import { inTurns, median } from './rounds';

// Launches of an organization with limits that are far away, compared with launches of an organization without limits.

void onBenchStack(async (stack) => {
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
  const load = async (tenant: typeof limited) => {
    // Open jobs count against the limits, so each round starts with the same number: one running job for each agent.
    await client.query(`DELETE FROM job WHERE status = 'queued'`);
    return postLoad(gateway.url, {
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
    const compared = await inTurns(
      5,
      () => load(unlimited),
      () => load(limited),
    );
    const latency = (rounds: HttpRound[], which: 'p50' | 'p99') => milliseconds(median(rounds.map((r) => r[which])));
    report({ name: 'reservation', target: 0.9, unit: 'launches' }, compared, [
      ['latency p50', latency(compared.baseline, 'p50'), latency(compared.subject, 'p50')],
      ['latency p99', latency(compared.baseline, 'p99'), latency(compared.subject, 'p99')],
    ]);
  } finally {
    await Promise.all([gateway.stop(), client.end()]);
  }
});
