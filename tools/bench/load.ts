import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runOnBenchStack } from './bench-stack';
import { cancelAllRuns, makeBenchTenant, startApp } from './bench-tenant';
import { Child } from './child';
import { Routes } from './load/routes';
import { Streams } from './load/streams';
import { computeCpuBetween, type ProcessUse, readProcessTree } from './read-process-tree';
import { computeMedian } from './rounds';
import { chooseSize } from './short';

// A busy day on one machine: machines that send heartbeats, open event streams, and runs from launch to end, all at
// fixed rates that do not wait for responses. BENCH_SECONDS sets the duration.

const agents = chooseSize(10_000, 40);
const heartbeatSeconds = chooseSize(30, 2);
const streamCount = chooseSize(2000, 8);
const perAgent = 2;
const launchesPerSecond = chooseSize(50, 4);
const seconds = Number(process.env['BENCH_SECONDS'] ?? chooseSize(600, 3));
const worstTargetMs = 1000;
/**
 * Maximum ratio of the memory in the last quarter of the run to the memory in the second quarter, when caches and pools
 * are full already.
 */
const growthTarget = 1.1;
const mebibyte = 1024 ** 2;

interface Sample {
  service: number;
  servers: number;
}

void runOnBenchStack(async (stack) => {
  const tenant = await makeBenchTenant(stack, agents);
  const worker = await Child.start(join(__dirname, 'job-life/worker.js'), {});
  await cancelAllRuns(stack.databaseUrl, worker.url);
  const service = await startApp('standalone', stack, {
    INTERNAL_PORT: '0',
    EVENT_STREAMS_MAX_PER_ORGANIZATION: String(streamCount),
  });
  const api = { 'x-api-key': tenant.apiKey };
  const key = { 'x-api-key': tenant.workerKey };
  await worker.askQuestion({ url: `${service.url}/api/job-webhook`, headers: key });
  const routes = new Routes();
  const streams = new Streams();
  const runs = new Map<string, number>();
  const early = new Map<string, number>();
  const faults: string[] = [];
  let completed = 0;
  const recordFinished = (began: number, at: number) => {
    completed += 1;
    routes.recordLatency('launch to end', at - began);
  };
  worker.addListener(({ jobId, error }: { jobId?: string; error?: string }) => {
    if (!jobId) return;
    if (error) return void faults.push(error);
    const began = runs.get(jobId);
    if (began === undefined) return void early.set(jobId, performance.now());
    recordFinished(began, performance.now());
    routes.trackWork(routes.get('GET a run', `${service.url}/api/jobs/${jobId}`, api));
  });
  try {
    const watched = tenant.agentIds.slice(0, streamCount / perAgent);
    const urls = watched.flatMap((id) => Array<string>(perAgent).fill(`${service.url}/api/agents/${id}/events`));
    await streams.openAll(urls, api);
    const sendHeartbeat = (at: number) => {
      const body = { agentId: tenant.agentIds[at % agents], bootId: 'boot', vmState: 'running', healthy: true };
      return routes.post('heartbeat', `${service.url}/api/agent/heartbeat`, body, key);
    };
    let launchedWatched = 0;
    let launched = 0;
    const launchRun = async (at: number) => {
      // Every second launch uses a watched agent. The agents take turns.
      const half = Math.floor(at / 2);
      const isWatched = at % 2 === 0;
      const agentId = isWatched
        ? watched[half % watched.length]
        : tenant.agentIds[watched.length + (half % (agents - watched.length))];
      const body = { workflowId: tenant.workflowId, agentId, variables: { CLAIM_ID: `C-${at}` } };
      const began = performance.now();
      const answer = await routes.post<{ jobId: string }>('launch', `${service.url}/api/jobs/launch`, body, api);
      if (!answer) return;
      launched += 1;
      if (isWatched) launchedWatched += 1;
      runs.set(answer.jobId, began);
      const ended = early.get(answer.jobId);
      if (ended !== undefined) recordFinished(began, ended);
    };
    const samples: Sample[] = [];
    const before = await readProcessTree(service.pid);
    const began = performance.now();
    const sampling = sampleRegularly(samples, () => measureMemory(service.pid, [stack.postgresPid, stack.redisPid]));
    await Promise.all([
      routes.sendAtRate(agents / heartbeatSeconds, seconds, sendHeartbeat),
      routes.sendAtRate(launchesPerSecond, seconds, launchRun),
    ]);
    const elapsedMs = performance.now() - began;
    const used = computeCpuBetween(before, await readProcessTree(service.pid)) / elapsedMs;
    await routes.waitUntilAnswered();
    await waitUntilDone(() => completed >= launched && streams.endsSeen >= launchedWatched * perAgent);
    await sampling.end();
    const lost = { runs: launched - completed, deliveries: launchedWatched * perAgent - streams.endsSeen };
    printReport({ routes, samples, used, launched, lost, streamsLost: streams.lost, faults });
  } finally {
    streams.close();
    await Promise.all([service.stop(), worker.stop()]);
  }
});

/** Waits up to 30 s until the work that is still in progress after the last request is done. */
async function waitUntilDone(done: () => boolean): Promise<void> {
  for (let waits = 0; waits < 300 && !done(); waits += 1) await delay(100);
}

async function measureMemory(service: number, servers: number[]): Promise<Sample> {
  const sumPss = (uses: ProcessUse[]) => uses.reduce((sum, { pssBytes }) => sum + pssBytes, 0);
  const [own, ...others] = await Promise.all([service, ...servers].map(readProcessTree));
  return { service: sumPss(own!), servers: others.reduce((sum, uses) => sum + sumPss(uses), 0) };
}

function sampleRegularly(into: Sample[], take: () => Promise<Sample>): { end(): Promise<void> } {
  let ending = false;
  const loop = (async () => {
    while (!ending) {
      into.push(await take());
      for (let waited = 0; waited < (seconds * 1000) / 40 && !ending; waited += 50) await delay(50);
    }
  })();
  return {
    end: async () => {
      ending = true;
      await loop;
    },
  };
}

interface Measured {
  routes: Routes;
  samples: Sample[];
  used: number;
  launched: number;
  lost: { runs: number; deliveries: number };
  streamsLost: number;
  faults: string[];
}

function printReport({ routes, samples, used, launched, lost, streamsLost, faults }: Measured): void {
  const rows = routes.summarizeRoutes();
  const subject = `${agents} agents that heartbeat every ${heartbeatSeconds} s, ${streamCount} streams, ${launchesPerSecond} launches/s`;
  console.log(`load: ${subject}, over ${seconds} s`);
  console.log(
    `  ${['', 'count', 'failed', 'p50', 'p99', 'worst'].map((cell, at) => cell.padStart(at ? 12 : 16)).join('')}`,
  );
  for (const { name, count, failed, p50, p99, worst } of rows) {
    const cells = [String(count), String(failed), ...[p50, p99, worst].map((ms) => `${ms.toFixed(1)} ms`)];
    console.log(`  ${name.padEnd(16)}${cells.map((cell) => cell.padStart(12)).join('')}`);
  }
  const worst = Math.max(...rows.filter(({ name }) => name !== 'launch to end').map((row) => row.worst));
  const failed = rows.reduce((sum, row) => sum + row.failed, faults.length);
  console.log(
    `  worst response ${worst.toFixed(0)} ms, target ${worstTargetMs}: ${worst <= worstTargetMs ? 'met' : 'not met'}`,
  );
  console.log(
    `  lost: ${lost.runs} of ${launched} runs, ${lost.deliveries} of their ends on streams, ${streamsLost} streams; failed: ${failed}`,
  );
  for (const fault of new Set([...rows.flatMap((row) => row.fault ?? []), ...faults.slice(0, 1)]))
    console.log(`    ${fault}`);
  console.log(`  the service used ${(used * 100).toFixed(0)} % of a core`);
  printMemory(samples);
}

function printMemory(samples: Sample[]): void {
  const computeMedianOfQuarter = (at: number, part: keyof Sample) =>
    computeMedian(
      samples
        .slice(Math.floor((samples.length * at) / 4), Math.ceil((samples.length * (at + 1)) / 4))
        .map((one) => one[part]),
    );
  const formatMib = (bytes: number) => (bytes / mebibyte).toFixed(0);
  for (const [part, name] of [
    ['service', 'memory of the service'],
    ['servers', 'memory of Postgres and Redis'],
  ] as const) {
    const quarters = [0, 1, 2, 3].map((at) => computeMedianOfQuarter(at, part));
    const growth = quarters[3]! / quarters[1]!;
    const verdict = part === 'service' ? `, target ${growthTarget}: ${growth <= growthTarget ? 'met' : 'not met'}` : '';
    console.log(
      `  ${name}, by quarters: ${quarters.map(formatMib).join(', ')} MiB; last to second ${growth.toFixed(2)}${verdict}`,
    );
  }
  console.log('');
}
