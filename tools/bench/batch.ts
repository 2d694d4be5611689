import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Strain } from './batch-subject';
import { type BenchStack, onBenchStack } from './bench-stack';
import { type BenchTenant, makeBenchTenant, startApp } from './bench-tenant';
import { Child } from './child';
import { milliseconds } from './report';
import { median } from './rounds';
import { sized } from './short';

// Launches 10,000 rows in one request, as JSON and as CSV, and cancels them. Measures the time, the longest block of
// the gateway's event loop, and its memory. The first round is a warm-up.

const rows = sized(10_000, 20);
const rounds = sized(5, 1);
const mebibyte = 1024 * 1024;

interface Round extends Strain {
  ms: number;
  grownBytes: number;
}

void onBenchStack(async (stack) => {
  const tenant = await makeBenchTenant(stack, 50);
  await turnOff(stack);
  const gateway = await startGateway(stack);
  const dispatcher = await startApp('dispatcher', stack);
  try {
    const measured: Record<string, Round[]> = { JSON: [], CSV: [], cancel: [] };
    for (let at = 0; at <= rounds; at += 1) {
      const batchIds: string[] = [];
      const launch = async (body: () => { body: string | FormData; type?: string }) => {
        const request = body();
        const answer = await post(gateway, tenant, '/api/jobs/batch', request);
        if (answer.queued !== rows) throw new Error(`${answer.queued} of ${rows} rows were queued`);
        batchIds.push(answer.batchId);
      };
      const results = {
        JSON: await strained(gateway, () => launch(() => jsonOf(tenant))),
        CSV: await strained(gateway, () => launch(() => formOf(tenant))),
        cancel: await strained(gateway, async () => {
          await post(gateway, tenant, `/api/batches/${batchIds[0]}/cancel`, { body: '{}', type: 'application/json' });
          await untilCancelled(gateway, tenant, batchIds[0]!);
        }),
      };
      if (at > 0) for (const [name, round] of Object.entries(results)) measured[name]!.push(round);
    }
    for (const [name, samples] of Object.entries(measured)) {
      const medianOf = (pick: (round: Round) => number) => median(samples.map(pick));
      console.log(
        `batch of ${rows} rows, ${name}: ${milliseconds(medianOf(({ ms }) => ms))}; event loop held for at most ` +
          `${milliseconds(medianOf(({ maxDelayMs }) => maxDelayMs))} (worst ${milliseconds(
            Math.max(...samples.map(({ maxDelayMs }) => maxDelayMs)),
          )}); memory grew by ${(medianOf(({ grownBytes }) => grownBytes) / mebibyte).toFixed(1)} MiB, to ${(
            medianOf(({ peakBytes }) => peakBytes) / mebibyte
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
async function turnOff({ databaseUrl }: BenchStack): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`UPDATE agent SET status = 'offline'`);
  await client.end();
}

async function untilCancelled({ url }: Child, { apiKey }: BenchTenant, id: string): Promise<void> {
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

async function strained(gateway: Child, work: () => Promise<void>): Promise<Round> {
  const before = await gateway.ask<Strain>({});
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  const strain = await gateway.ask<Strain>({});
  return { ...strain, ms, grownBytes: Math.max(0, strain.peakBytes - before.residentBytes) };
}

const claimOf = (at: number) => `C-${String(at).padStart(6, '0')}`;

function jsonOf({ workflowId, agentIds }: BenchTenant) {
  const list = Array.from({ length: rows }, (_, at) => ({ CLAIM_ID: claimOf(at) }));
  return { body: JSON.stringify({ workflowId, agentIds, rows: list }), type: 'application/json' };
}

function formOf({ workflowId, agentIds }: BenchTenant) {
  const form = new FormData();
  form.set('workflowId', workflowId);
  form.set('agentIds', JSON.stringify(agentIds));
  const lines = Array.from({ length: rows }, (_, at) => `${claimOf(at)}\r\n`);
  form.set('file', new Blob([`CLAIM_ID\r\n${lines.join('')}`], { type: 'text/csv' }), 'claims.csv');
  return { body: form };
}

async function post(
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
