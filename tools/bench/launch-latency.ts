import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createDatabase, runOnBenchStack } from './bench-stack';
import { cancelAllRuns, makeBenchTenant, startApp } from './bench-tenant';
import { Child } from './child';
import { formatMilliseconds } from './print-report';
import { computePercentile } from './rounds';
import { chooseSize } from './short';

// Measures the time from the launch request to the command's arrival at an idle agent, through gateway, outbox,
// dispatcher and signed push. The baseline, the minimal program for comparison, is a request that commits a row and
// adds to BullMQ, and a worker that commits and posts.

const launches = chooseSize(300, 5);
const warmUp = chooseSize(20, 1);
const target = 1.5;
/** Number of parts of the measurement whose ratios are compared to print the spread. */
const parts = 5;

void runOnBenchStack(async (stack) => {
  const receiver = await startReceiver();
  const tenant = await makeBenchTenant(stack, 1);
  await cancelAllRuns(stack.databaseUrl, receiver.url);
  const env = { MASTER_KEYS: `bench:${Buffer.alloc(32, 7).toString('base64')}` };
  const [gateway, dispatcher, ingest] = await Promise.all([
    startApp('gateway', stack, env),
    startApp('dispatcher', stack, env),
    startApp('ingest', stack, env),
  ]);
  const baseline = await Child.start(join(__dirname, 'latency-baseline.js'), {
    DATABASE_URL: await createDatabase(stack),
    REDIS_URL: stack.redisUrl,
    TARGET_URL: receiver.url,
  });
  const measured = { baseline: [] as number[], muster: [] as number[] };
  try {
    for (let at = 0; at < launches; at += 1) {
      measured.baseline.push(await measureLatency(receiver, () => postJson(`${baseline.url}/launch`, {}, {})));
      const body = { workflowId: tenant.workflowId, agentId: tenant.agentIds[0], variables: { CLAIM_ID: 'C' } };
      let launched: { jobId: string } | undefined;
      const ms = await measureLatency(receiver, async () => {
        launched = (await postJson(`${gateway.url}/api/jobs/launch`, body, {
          'x-api-key': tenant.apiKey,
        })) as typeof launched;
      });
      measured.muster.push(ms);
      const end = { jobId: launched!.jobId, status: 'completed' };
      await postJson(`${ingest.url}/api/job-webhook`, end, { 'x-api-key': tenant.workerKey });
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const [below, muster] = [measured.baseline.slice(warmUp), measured.muster.slice(warmUp)];
    for (const percent of [50, 99]) printComparison(percent, below, muster);
    console.log('');
  } finally {
    await Promise.all([gateway.stop(), dispatcher.stop(), ingest.stop(), baseline.stop()]);
    receiver.close();
  }
});

function printComparison(percent: number, below: number[], muster: number[]): void {
  const formatRatio = (from: number, to?: number) =>
    computePercentile(muster.slice(from, to), percent) / computePercentile(below.slice(from, to), percent);
  const size = Math.ceil(muster.length / parts);
  const each = Array.from({ length: Math.ceil(muster.length / size) }, (_, at) =>
    formatRatio(at * size, (at + 1) * size),
  );
  const ratio = formatRatio(0);
  const spread = `${Math.min(...each).toFixed(2)}–${Math.max(...each).toFixed(2)}`;
  const both = `${formatMilliseconds(computePercentile(muster, percent))} to ${formatMilliseconds(computePercentile(below, percent))}`;
  const met = ratio <= target ? 'met' : 'not met';
  console.log(
    `launch-latency: p${percent} ${ratio.toFixed(2)} times the baseline (${spread}; ${both}); target ${target}: ${met}`,
  );
}

interface CommandReceiver {
  url: string;
  /** Called with the time of each arrival of a command. */
  onArrival: (at: number) => void;
  close(): void;
}

async function startReceiver(): Promise<CommandReceiver> {
  const receiver: CommandReceiver = { url: '', onArrival: () => undefined, close: () => server.close() };
  const server = createServer((request, response) => {
    const at = performance.now();
    request.resume().on('end', () => response.writeHead(202).end('{}'));
    receiver.onArrival(at);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return receiver;
}

async function measureLatency(receiver: CommandReceiver, work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  const arrived = new Promise<number>((resolve) => (receiver.onArrival = resolve));
  await work();
  return (await arrived) - began;
}

async function postJson(url: string, body: object, headers: Record<string, string>): Promise<unknown> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}
