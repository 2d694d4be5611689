import { generateApiKey } from '@muster/access';
import { EventStream, HttpClient, waitFor } from '@muster/testing';
import { hash } from '@node-rs/argon2';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { BenchStack } from './bench-stack';
import { type BenchTenant, startApp } from './bench-tenant';
import { findChromium } from './find-chromium';
import { readProcessTree } from './read-process-tree';
import { chooseSize } from './short';

const measuredMs = chooseSize(10_000, 2000);
const page = `<canvas width="900" height="600"></canvas><script>
  const context = document.querySelector('canvas').getContext('2d');
  setInterval(() => {
    context.fillStyle = 'hsl(' + Date.now() / 20 % 360 + ' 80% 50%)';
    context.fillRect(Math.random() * 900, Math.random() * 600, 80, 60);
  }, 50);</script>`;

/**
 * Measures the live screen of a run: a real worker plays a page that changes all the time, and a person watches it.
 * Returns the line of the report.
 */
export async function measureScreen(stack: BenchStack, tenant: BenchTenant): Promise<string> {
  const browser = await findChromium();
  if (!browser) return 'ask: live screen: skipped without Chromium';
  const folder = mkdtempSync(join(tmpdir(), 'muster-bench-screen-'));
  const pages = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(page));
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  const service = await startApp('standalone', stack, { INTERNAL_PORT: '0' });
  const { person, agentId, workerKey } = await makePerson(stack, tenant, service.url);
  const worker = spawn(process.execPath, [join(__dirname, '../../apps/worker/src/main.js')], {
    env: {
      ...{ PATH: process.env['PATH'], HOME: process.env['HOME'], CHROMIUM: browser },
      ...{ SERVICE_BASE_URL: service.url, SERVICE_API_KEY: workerKey, AGENT_ID: agentId },
      ...{ MUSTER_WORKER_DIR: join(folder, 'worker'), MUSTER_TUNNEL_HOSTNAME: 'off' },
    },
    stdio: 'ignore',
  });
  try {
    const { port } = pages.address() as AddressInfo;
    const jobId = await launchAsking(person, agentId, `http://127.0.0.1:${port}/`);
    const unwatched = await measureCpu(worker);
    const screen = await EventStream.open(`${person.url}/api/jobs/${jobId}/screen`, person.headers);
    await screen.waitForEvents(2);
    const shown = screen.events.length;
    const watched = await measureCpu(worker);
    const frames = screen.events.slice(shown);
    screen.close();
    const bytes = frames.reduce((sum, { data }) => sum + (data as { data: string }).data.length, 0);
    const [seconds, kilobyte] = [measuredMs / 1000, 1000];
    const rate = `${(frames.length / seconds).toFixed(1)} images/s, ${(bytes / seconds / kilobyte).toFixed(0)} kB/s`;
    return `ask: live screen: ${rate}; CPU of the worker ${watched.toFixed(1)} %, ${unwatched.toFixed(1)} % unwatched`;
  } finally {
    worker.kill('SIGTERM');
    if (worker.exitCode === null) await once(worker, 'exit');
    await service.stop();
    pages.closeAllConnections();
    pages.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

/** Creates a person who watches, and an agent with a key of its own. */
async function makePerson({ databaseUrl }: BenchStack, { organizationId }: BenchTenant, url: string) {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const agentId = randomUUID();
  const [email, password] = [`${agentId}@muster.bench`, randomBytes(12).toString('base64url')];
  const { id, secret: workerKey } = generateApiKey();
  await client.query(
    `INSERT INTO agent (id, organization_id, name, status, provider) VALUES ($1, $2, 'Screen', 'offline', 'external')`,
    [agentId, organizationId],
  );
  await client.query(
    `INSERT INTO api_key (id, organization_id, name, scope, secret_hash, agent_id) VALUES ($1, $2, 'screen', 'worker', $3, $4)`,
    [id, organizationId, createHash('sha256').update(workerKey).digest('hex'), agentId],
  );
  await client.query(
    'INSERT INTO app_user (id, organization_id, email, password_hash, role) VALUES ($1, $2, $3, $4, $5)',
    [randomUUID(), organizationId, email, await hash(password), 'admin'],
  );
  await client.end();
  return { person: await new HttpClient(url).signIn(email, password), agentId, workerKey };
}

/** Launches a run that opens the page and then waits for a person. Returns its id. */
async function launchAsking(person: HttpClient, agentId: string, url: string): Promise<string> {
  const steps = [
    { id: 'open', type: 'goto', url },
    { id: 'ask', type: 'ask', question: 'Done?', kind: 'confirm', takeover: true, as: 'done', waits: '10m' },
  ];
  const workflow = await person.post('/api/workflows', { name: 'Screen', variables: [], steps });
  const launched = await person.post('/api/jobs/launch', { workflowId: workflow.body.id, agentId });
  if (launched.status !== 202) throw new Error(`the launch answered ${launched.status}: ${launched.text}`);
  const { jobId } = launched.body as { jobId: string };
  await waitFor(
    'the run to ask',
    async () => (await person.get(`/api/questions?jobId=${jobId}&status=open`)).body.questions[0],
    60_000,
  );
  return jobId;
}

/** Returns the percentage of a core that the worker itself uses, without the script and the browser. */
async function measureCpu({ pid }: ChildProcess): Promise<number> {
  const readOwn = async () => (await readProcessTree(pid!)).find((each) => each.pid === pid)!.cpuMs;
  const before = await readOwn();
  await sleep(measuredMs);
  return ((await readOwn()) - before) / (measuredMs / 100);
}
