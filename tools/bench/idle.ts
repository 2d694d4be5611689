import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort } from '../dev-stack/src/find-free-port';
import { computeCpuBetween, type ProcessUse, readProcessTree } from './read-process-tree';
import { chooseSize } from './short';
import { endNpmProcess, root, startNpmProcess } from './npm-start';

// Measures an idle `npm start` with 100 agents that send heartbeats: all its processes including Postgres and Redis.

const agents = chooseSize(100, 5);
const heartbeatSeconds = chooseSize(30, 1);
const warmUpSeconds = chooseSize(20, 1);
const seconds = Number(process.env['BENCH_SECONDS'] ?? chooseSize(120, 2));
const targets = { mebibytes: 350, percentOfCore: 3 };

void (async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'muster-bench-'));
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const credentials = {
    BOOTSTRAP_ADMIN_EMAIL: 'admin@muster.local',
    BOOTSTRAP_ADMIN_PASSWORD: randomBytes(12).toString('base64url'),
    BOOTSTRAP_WORKER_KEY: `msk_${randomBytes(6).toString('hex')}_${randomBytes(32).toString('base64url')}`,
  };
  const args = ['--port', String(port), '--data-dir', dataDir, '--no-demo'];
  const child = await startNpmProcess(args, credentials);
  try {
    const ids = await makeAgents(url, credentials.BOOTSTRAP_ADMIN_EMAIL, credentials.BOOTSTRAP_ADMIN_PASSWORD);
    const key = { 'x-api-key': credentials.BOOTSTRAP_WORKER_KEY };
    for (const agentId of ids) {
      await postJson(`${url}/api/agents/handshake`, { agentId, bootId: 'boot', workerVersion: '1' }, key);
    }
    const beats = startHeartbeats(url, key, ids);
    await delay(warmUpSeconds * 1000);
    const before = await readProcessTree(child.pid!);
    const began = performance.now();
    await delay(seconds * 1000);
    const after = await readProcessTree(child.pid!);
    const elapsedMs = performance.now() - began;
    printMeasured({ before, after, elapsedMs, heartbeats: await beats.end() });
  } finally {
    await endNpmProcess(child);
    await rm(dataDir, { recursive: true, force: true });
  }
})();

async function makeAgents(url: string, email: string, password: string): Promise<string[]> {
  const signedIn = await postJson(`${url}/api/auth/login`, { email, password }, {});
  const cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!;
  const ids: string[] = [];
  for (let n = 1; n <= agents; n += 1) {
    const made = await postJson(`${url}/api/agents`, { name: `Agent ${n}`, provider: 'external' }, { cookie });
    ids.push(((await made.json()) as { agent: { id: string } }).agent.id);
  }
  return ids;
}

/** Sends the agents' heartbeats one after the other, spread evenly over the interval. */
function startHeartbeats(url: string, key: Record<string, string>, ids: string[]): { end(): Promise<number> } {
  let ending = false;
  let sent = 0;
  const loop = (async () => {
    while (!ending) {
      const next = performance.now() + (heartbeatSeconds * 1000) / ids.length;
      const body = { agentId: ids[sent % ids.length], bootId: 'boot', vmState: 'running', healthy: true };
      await (await postJson(`${url}/api/agent/heartbeat`, body, key)).arrayBuffer();
      sent += 1;
      await delay(Math.max(0, next - performance.now()));
    }
  })();
  return {
    end: async () => {
      ending = true;
      await loop;
      return sent;
    },
  };
}

interface Measured {
  before: ProcessUse[];
  after: ProcessUse[];
  elapsedMs: number;
  heartbeats: number;
}

function printMeasured({ before, after, elapsedMs, heartbeats }: Measured): void {
  const memory = sumField(after, 'pssBytes') / 1024 ** 2;
  const percent = (computeCpuBetween(before, after) / elapsedMs) * 100;
  const formatTarget = (ok: boolean) => (ok ? 'met' : 'not met');
  const subject = `${agents} agents that heartbeat every ${heartbeatSeconds} s (${heartbeats} heartbeats)`;
  console.log(`idle: npm start with ${subject}, over ${(elapsedMs / 1000).toFixed(0)} s`);
  printRow(
    'memory',
    `${memory.toFixed(0)} MiB`,
    `target ${targets.mebibytes}: ${formatTarget(memory <= targets.mebibytes)}`,
  );
  printRow(
    'CPU',
    `${percent.toFixed(2)} %`,
    `of a core, target ${targets.percentOfCore}: ${formatTarget(percent <= targets.percentOfCore)}`,
  );
  for (const [name, uses] of groupByName(after)) {
    const known = new Set(uses.map(({ pid }) => pid));
    const earlier = before.filter(({ pid }) => known.has(pid));
    const share = (computeCpuBetween(earlier, uses) / elapsedMs) * 100;
    const count = uses.length > 1 ? ` (${uses.length})` : '';
    printRow(
      `  ${name}${count}`,
      `${(sumField(uses, 'pssBytes') / 1024 ** 2).toFixed(1)} MiB`,
      `${share.toFixed(2)} %`,
    );
  }
  console.log('');
}

function printRow(name: string, figure: string, more: string): void {
  console.log(`  ${name.padEnd(44)}  ${figure.padStart(12)}   ${more}`);
}

function sumField(uses: ProcessUse[], field: 'cpuMs' | 'pssBytes'): number {
  return uses.reduce((sum, use) => sum + use[field], 0);
}

/** Groups processes by name, the largest group first. Postgres' processes are grouped by role. */
function groupByName(uses: ProcessUse[]): [string, ProcessUse[]][] {
  const groups = new Map<string, ProcessUse[]>();
  for (const use of uses) groups.set(getProcessName(use), [...(groups.get(getProcessName(use)) ?? []), use]);
  return [...groups].sort(([, a], [, b]) => sumField(b, 'pssBytes') - sumField(a, 'pssBytes'));
}

function getProcessName({ command }: ProcessUse): string {
  const postgres = /^postgres: (.*)/.exec(command)?.[1];
  // The title of a connection's process also contains its database, address and current activity.
  if (postgres) return `postgres: ${/^\S*muster\S*/.exec(postgres)?.[0] ?? postgres}`;
  if (/\/postgres /.test(command)) return 'postgres';
  if (command.includes('redis-server')) return 'redis-server';
  if (command.includes('start.mjs')) return 'npm start';
  const words = command.split(/\s+/).map((word) => (word.startsWith(root) ? word.slice(root.length + 1) : word));
  return words
    .filter((word) => !word.startsWith('--') && word !== process.execPath)
    .join(' ')
    .slice(0, 40);
}

async function postJson(url: string, body: object, headers: Record<string, string>): Promise<Response> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return answer;
}
