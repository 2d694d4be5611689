import { generateApiKey } from '@muster/access';
import { newId } from '@muster/platform';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { type BenchStack, runOnBenchStack } from './bench-stack';
import { Child } from './child';
import { formatMilliseconds, printReport } from './print-report';
import { runInTurns, computePercentile, type Round } from './rounds';
import type { Load } from './streams-load';
import { Readers } from './streams-readers';
import { chooseSize } from './short';

// Measures the time from the start of a transaction until 2,000 event streams of 100 agents have received its entries.
// The baseline, the minimal program for comparison, is a bare server that writes the same bytes to them.

const agentCount = chooseSize(100, 5);
const readersOfEach = chooseSize(20, 2);
const streams = agentCount * readersOfEach;

interface Side {
  readers: Readers;
  bytesPerStream: number;
  write(load: Omit<Load, 'agents'>): Promise<unknown>;
}

void runOnBenchStack(async (stack) => {
  const { secret } = generateApiKey();
  const env = buildEnvironment(stack, secret);
  const gateway = await Child.start(join(__dirname, '../../apps/gateway/src/main.js'), env);
  const { organizationId, agents } = await makeAgents(stack);
  const writer = await Child.start(join(__dirname, 'streams-writer.js'), {
    ...env,
    BENCH_ORGANIZATION: organizationId,
  });
  const below = await Child.start(join(__dirname, 'streams-baseline.js'), {});
  const sides: Side[] = [];
  try {
    const baseline = await openSide(below, agents, {}, (load) => below.askQuestion({ agents, ...load }));
    const subject = await openSide(gateway, agents, { 'x-api-key': secret }, (load) =>
      writer.askQuestion({ agents, ...load }),
    );
    sides.push(baseline, subject);
    const compared = await runInTurns(
      5,
      () => measureBurst(baseline),
      () => measureBurst(subject),
    );
    const [idleBaseline, idleSubject] = [await measureSteady(baseline), await measureSteady(subject)];
    const formatPercentile = (values: number[], percent: number) =>
      formatMilliseconds(computePercentile(values, percent));
    const toKib = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`;
    printReport({ name: 'streams', target: 0.5, unit: 'deliveries' }, compared, [
      ['latency p50', formatPercentile(idleBaseline, 50), formatPercentile(idleSubject, 50)],
      ['latency p99', formatPercentile(idleBaseline, 99), formatPercentile(idleSubject, 99)],
      ['memory of a stream', toKib(baseline.bytesPerStream), toKib(subject.bytesPerStream)],
    ]);
  } finally {
    for (const { readers } of sides) readers.close();
    await Promise.all([gateway.stop(), writer.stop(), below.stop()]);
  }
});

/** Opens all readers' connections, and measures the memory that each costs the server. */
async function openSide(
  server: Child,
  agents: string[],
  headers: Record<string, string>,
  write: Side['write'],
): Promise<Side> {
  const readers = new Readers();
  const before = await server.readResidentBytes();
  const urls = agents.flatMap((id) =>
    Array.from({ length: readersOfEach }, () => `${server.url}/api/agents/${id}/events`),
  );
  await readers.openAll(urls, headers);
  return { readers, bytesPerStream: ((await server.readResidentBytes()) - before) / streams, write };
}

/** Measures 10,000 entries in transactions of 50, as fast as possible, each entry to twenty readers. */
async function measureBurst({ readers, write }: Side): Promise<Round> {
  const events = 2 * 50 * streams;
  const [{ seconds }] = await Promise.all([readers.waitForEvents(events), write({ transactions: 2, entries: 50 })]);
  return { perSecond: events / seconds };
}

/** Measures 100 entries per second, one at a time: 2,000 deliveries per second. */
async function measureSteady({ readers, write }: Side): Promise<number[]> {
  await delay(1000);
  const transactions = 10;
  const [{ latenciesMs }] = await Promise.all([
    readers.waitForEvents(transactions * streams),
    write({ transactions, entries: 1, perSecond: 100 }),
  ]);
  return latenciesMs;
}

function buildEnvironment({ databaseUrl, redisUrl }: BenchStack, apiKey: string): Record<string, string> {
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
