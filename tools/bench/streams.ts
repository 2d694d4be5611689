import { newApiKey } from '@muster/access';
import { newId } from '@muster/platform';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { type BenchStack, onBenchStack } from './bench-stack';
import { Child } from './child';
import { milliseconds, report } from './report';
import { inTurns, percentile, type Round } from './rounds';
import type { Load } from './streams-load';
import { Readers } from './streams-readers';
import { sized } from './short';

// Measures the time from the start of a transaction until 2,000 event streams of 100 agents have received its entries.
// The baseline, the minimal program for comparison, is a bare server that writes the same bytes to them.

const agentCount = sized(100, 5);
const readersOfEach = sized(20, 2);
const streams = agentCount * readersOfEach;

interface Side {
  readers: Readers;
  bytesPerStream: number;
  write(load: Omit<Load, 'agents'>): Promise<unknown>;
}

void onBenchStack(async (stack) => {
  const { secret } = newApiKey();
  const env = environment(stack, secret);
  const gateway = await Child.start(join(__dirname, '../../apps/gateway/src/main.js'), env);
  const { organizationId, agents } = await makeAgents(stack);
  const writer = await Child.start(join(__dirname, 'streams-writer.js'), {
    ...env,
    BENCH_ORGANIZATION: organizationId,
  });
  const below = await Child.start(join(__dirname, 'streams-baseline.js'), {});
  const sides: Side[] = [];
  try {
    const baseline = await open(below, agents, {}, (load) => below.ask({ agents, ...load }));
    const subject = await open(gateway, agents, { 'x-api-key': secret }, (load) => writer.ask({ agents, ...load }));
    sides.push(baseline, subject);
    const compared = await inTurns(
      5,
      () => burst(baseline),
      () => burst(subject),
    );
    const [idleBaseline, idleSubject] = [await steady(baseline), await steady(subject)];
    const latency = (values: number[], percent: number) => milliseconds(percentile(values, percent));
    const kib = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`;
    report({ name: 'streams', target: 0.5, unit: 'deliveries' }, compared, [
      ['latency p50', latency(idleBaseline, 50), latency(idleSubject, 50)],
      ['latency p99', latency(idleBaseline, 99), latency(idleSubject, 99)],
      ['memory of a stream', kib(baseline.bytesPerStream), kib(subject.bytesPerStream)],
    ]);
  } finally {
    for (const { readers } of sides) readers.close();
    await Promise.all([gateway.stop(), writer.stop(), below.stop()]);
  }
});

/** Opens all readers' connections, and measures the memory that each costs the server. */
async function open(
  server: Child,
  agents: string[],
  headers: Record<string, string>,
  write: Side['write'],
): Promise<Side> {
  const readers = new Readers();
  const before = await server.residentBytes();
  const urls = agents.flatMap((id) =>
    Array.from({ length: readersOfEach }, () => `${server.url}/api/agents/${id}/events`),
  );
  await readers.open(urls, headers);
  return { readers, bytesPerStream: ((await server.residentBytes()) - before) / streams, write };
}

/** Measures 10,000 entries in transactions of 50, as fast as possible, each entry to twenty readers. */
async function burst({ readers, write }: Side): Promise<Round> {
  const events = 2 * 50 * streams;
  const [{ seconds }] = await Promise.all([readers.expect(events), write({ transactions: 2, entries: 50 })]);
  return { perSecond: events / seconds };
}

/** Measures 100 entries per second, one at a time: 2,000 deliveries per second. */
async function steady({ readers, write }: Side): Promise<number[]> {
  await delay(1000);
  const transactions = 10;
  const [{ latenciesMs }] = await Promise.all([
    readers.expect(transactions * streams),
    write({ transactions, entries: 1, perSecond: 100 }),
  ]);
  return latenciesMs;
}

function environment({ databaseUrl, redisUrl }: BenchStack, apiKey: string): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    PUBLIC_APP_URL: 'http://muster.bench',
    MASTER_KEYS: `bench:${randomBytes(32).toString('base64')}`,
    PORT: '0',
    RATE_LIMIT_PER_MINUTE: '100000000',
    EVENT_STREAMS_MAX_PER_ORGANIZATION: String(streams),
    BOOTSTRAP_ORGANIZATION: 'Bench',
    BOOTSTRAP_API_KEY: apiKey,
  };
}

async function makeAgents({ databaseUrl }: BenchStack): Promise<{ organizationId: string; agents: string[] }> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string }>('SELECT id FROM organization');
    const organizationId = rows[0]!.id;
    const agents = Array.from({ length: agentCount }, () => newId());
    await client.query(
      `INSERT INTO agent (id, organization_id, name) SELECT id, $2, id::text FROM unnest($1::uuid[]) AS id`,
      [agents, organizationId],
    );
    return { organizationId, agents };
  } finally {
    await client.end();
  }
}
