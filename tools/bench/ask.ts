import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { measureScreen } from './ask-screen';
import { runOnBenchStack } from './bench-stack';
import { type BenchTenant, connectAgents, makeBenchTenant, startApp } from './bench-tenant';
import type { Child } from './child';
import { formatMilliseconds } from './print-report';
import { computePercentile } from './rounds';
import { chooseSize } from './short';

// Measures the time from the request that answers a question to the answer's arrival at the worker: pushed as a
// command, and as the response of a worker that polls. For comparison, it measures a plain HTTP round trip on the same
// machine. Then it measures the live screen of a run.

const questions = chooseSize(300, 5);
const warmUp = chooseSize(20, 1);

void runOnBenchStack(async (stack) => {
  const receiver = await startReceiver();
  const tenant = await makeBenchTenant(stack, 1);
  await connectAgents(stack.databaseUrl, receiver.url);
  const env = { MASTER_KEYS: `bench:${Buffer.alloc(32, 7).toString('base64')}` };
  const [gateway, dispatcher, ingest] = await Promise.all([
    startApp('gateway', stack, env),
    startApp('dispatcher', stack, env),
    startApp('ingest', stack, env),
  ]);
  const apps = { gateway, ingest };
  const measured = { plain: [] as number[], pushed: [] as number[], polled: [] as number[] };
  try {
    for (let at = 0; at < questions; at += 1) {
      measured.plain.push(await measureMs(() => postJson(`${receiver.url}/plain`, {}, '')));
      measured.pushed.push(await measureAnswer(apps, tenant, () => receiver.waitForCommand()));
      measured.polled.push(
        await measureAnswer(apps, tenant, (path) => getJson(`${ingest.url}${path}?wait=25`, tenant.workerKey)),
      );
    }
    for (const [name, times] of Object.entries(measured)) printTimes(name, times.slice(warmUp));
  } finally {
    await Promise.all([gateway.stop(), dispatcher.stop(), ingest.stop()]);
    receiver.close();
  }
  console.log(`${await measureScreen(stack, tenant)}\n`);
});

interface Apps {
  gateway: Child;
  ingest: Child;
}

/** Asks a question, and measures from the request that answers it until `arrival` has the answer. */
async function measureAnswer(
  { gateway, ingest }: Apps,
  { jobIds, apiKey, workerKey }: BenchTenant,
  arrival: (path: string) => Promise<unknown>,
): Promise<number> {
  const questionsPath = `/api/jobs/${jobIds[0]}/questions`;
  const body = { questionKey: randomUUID(), question: 'Which?', kind: 'text', timeoutSeconds: 600 };
  const { questionId } = (await postJson(`${ingest.url}${questionsPath}`, body, workerKey)) as { questionId: string };
  const arrived = arrival(`${questionsPath}/${questionId}`);
  return measureMs(async () => {
    await postJson(`${gateway.url}/api/questions/${questionId}/answer`, { answer: 'this one' }, apiKey);
    await arrived;
  });
}

async function measureMs(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function printTimes(name: string, times: number[]): void {
  const [p50, p99] = [50, 99].map((percent) => formatMilliseconds(computePercentile(times, percent)));
  const labels: Record<string, string> = {
    plain: 'a plain HTTP round trip',
    pushed: 'answer to worker, pushed',
    polled: 'answer to worker, polled',
  };
  console.log(`ask: ${labels[name]}: p50 ${p50}, p99 ${p99} (${times.length} times)`);
}

interface CommandReceiver {
  url: string;
  /** Resolves when the next command arrives. */
  waitForCommand: () => Promise<void>;
  close(): void;
}

/** Starts the worker's side: it accepts every command, and answers plain requests. */
async function startReceiver(): Promise<CommandReceiver> {
  let onCommand = () => undefined as void;
  const server = createServer((request, response) => {
    if (request.url !== '/plain') onCommand();
    request.resume().on('end', () => response.writeHead(202, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    waitForCommand: () => new Promise((resolve) => (onCommand = resolve)),
    close: () => server.close(),
  };
}

async function postJson(url: string, body: object, key: string): Promise<unknown> {
  const headers = { 'content-type': 'application/json', ...(key ? { 'x-api-key': key } : {}) };
  return readAnswer(url, await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) }));
}

async function getJson(url: string, key: string): Promise<unknown> {
  return readAnswer(url, await fetch(url, { headers: { 'x-api-key': key } }));
}

async function readAnswer(url: string, answer: Response): Promise<unknown> {
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}
