import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Strain } from './batch-subject';
import { type BenchStack, runOnBenchStack } from './bench-stack';
import { type BenchTenant, makeBenchTenant, startApp } from './bench-tenant';
import { Child } from './child';
import { formatMilliseconds } from './print-report';
import { computeMedian } from './rounds';
import { chooseSize } from './short';

// Launches 10,000 rows in one request, as JSON and as CSV, and cancels them. Measures the time, the longest block of
// the gateway's event loop, and its memory. The first round is a warm-up.

const rows = chooseSize(10_000, 20);
const rounds = chooseSize(5, 1);
const mebibyte = 1024 * 1024;

interface Round extends Strain {
  ms: number;
  grownBytes: number;
}

void runOnBenchStack(async (stack) => {
  const tenant = await makeBenchTenant(stack, 50);
  await disableLimits(stack);
  const gateway = await startGateway(stack);
  const dispatcher = await startApp('dispatcher', stack);
  try {
    const measured: Record<string, Round[]> = { JSON: [], CSV: [], cancel: [] };
    for (let at = 0; at <= rounds; at += 1) {
      const batchIds: string[] = [];
      const measureLaunch = async (body: () => { body: string | FormData; type?: string }) => {
        const request = body();
        const answer = await postBatch(gateway, tenant, '/api/jobs/batch', request);
        if (answer.queued !== rows) throw new Error(`${answer.queued} of ${rows} rows were queued`);
        batchIds.push(answer.batchId);
      };
      const results = {
        JSON: await measureUnderStrain(gateway, () => measureLaunch(() => buildJsonBody(tenant))),
        CSV: await measureUnderStrain(gateway, () => measureLaunch(() => buildFormBody(tenant))),
        cancel: await measureUnderStrain(gateway, async () => {
          await postBatch(gateway, tenant, `/api/batches/${batchIds[0]}/cancel`, {
            body: '{}',
            type: 'application/json',
          });
          await waitUntilCancelled(gateway, tenant, batchIds[0]!);
        }),
      };
      if (at > 0) for (const [name, round] of Object.entries(results)) measured[name]!.push(round);
    }
    for (const [name, samples] of Object.entries(measured)) {
      const computeMedianOfField = (pick: (round: Round) => number) => computeMedian(samples.map(pick));
      console.log(
        `batch of ${rows} rows, ${name}: ${formatMilliseconds(computeMedianOfField(({ ms }) => ms))}; event loop held for at most ` +
          `${formatMilliseconds(computeMedianOfField(({ maxDelayMs }) => maxDelayMs))} (worst ${formatMilliseconds(
            Math.max(...samples.map(({ maxDelayMs }) => maxDelayMs)),
          )}); memory grew by ${(computeMedianOfField(({ grownBytes }) => grownBytes) / mebibyte).toFixed(1)} MiB, to ${(
            computeMedianOfField(({ peakBytes }) => peakBytes) / mebibyte
          ).toFixed(0)} MiB in all, at its peak ` +
          `(median of ${samples.length} rounds)`,
      );
    }
    console.log('');
  } finally {
    await Promise.all([gateway.stop(), dispatcher.stop()]);
  }
});

/**
 * Takes the agents offline, so that queued runs stay queued. Only the cancellation is measured, not the work of agents.
 */
async function disableLimits({ databaseUrl }: BenchStack): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`UPDATE agent SET status = 'offline'`);
  await client.end();
}

async function waitUntilCancelled({ url }: Child, { apiKey }: BenchTenant, id: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/api/batches/${id}`, { headers: { 'x-api-key': apiKey } });
    const { cancelled } = (await answer.json()) as { cancelled: number };
    if (cancelled === rows) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function startGateway({ databaseUrl, redisUrl }: BenchStack): Promise<Child> {
  return Child.start(join(__dirname, 'batch-subject.js'), {
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: '10',
    REDIS_URL: redisUrl,
    PUBLIC_APP_URL: 'http://muster.bench',
    MASTER_KEYS: `bench:${randomBytes(32).toString('base64')}`,
    PORT: '0',
    RATE_LIMIT_PER_MINUTE: '100000000',
    LOG_LEVEL: 'error',
  });
}

async function measureUnderStrain(gateway: Child, work: () => Promise<void>): Promise<Round> {
  const before = await gateway.askQuestion<Strain>({});
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  const strain = await gateway.askQuestion<Strain>({});
  return { ...strain, ms, grownBytes: Math.max(0, strain.peakBytes - before.residentBytes) };
}

const buildClaim = (at: number) => `C-${String(at).padStart(6, '0')}`;

function buildJsonBody({ workflowId, agentIds }: BenchTenant) {
  const list = Array.from({ length: rows }, (_, at) => ({ CLAIM_ID: buildClaim(at) }));
  return { body: JSON.stringify({ workflowId, agentIds, rows: list }), type: 'application/json' };
}

function buildFormBody({ workflowId, agentIds }: BenchTenant) {
  const form = new FormData();
  form.set('workflowId', workflowId);
  form.set('agentIds', JSON.stringify(agentIds));
  const lines = Array.from({ length: rows }, (_, at) => `${buildClaim(at)}\r\n`);
  form.set('file', new Blob([`CLAIM_ID\r\n${lines.join('')}`], { type: 'text/csv' }), 'claims.csv');
  return { body: form };
}

async function postBatch(
  { url }: Child,
  { apiKey }: BenchTenant,
  path: string,
  { body, type }: { body: string | FormData; type?: string },
): Promise<{ batchId: string; queued: number }> {
  const headers = { 'x-api-key': apiKey, ...(type ? { 'content-type': type } : {}) };
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body });
  const text = await answer.text();
  if (answer.status !== 202) throw new Error(`${path} answered ${answer.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text);
}
