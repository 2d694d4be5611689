import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpClient, waitFor } from '@muster/testing';
import { Start } from './npm-start';
import { root } from './service-process';
import { canMakeHosts, TwoHosts } from './two-hosts';

jest.setTimeout(240_000);

const port = 3000;
const script = `
import os, urllib.request
import muster
with muster.step("Look around"):
    health = urllib.request.urlopen(os.environ["SERVICE_BASE_URL"] + "/api/health").status
    with open("seen.txt", "w") as file:
        file.write("far away")
    muster.artifact("seen.txt")
    muster.result({"health": health, "base": os.environ["SERVICE_BASE_URL"]})
`;
/** Writes down whoever connects. */
const trap = `require('net').createServer((socket) => {
  require('fs').appendFileSync('caught', 'somebody'); socket.destroy();
}).listen(4711, '127.0.0.1')`;

const describeHosts = canMakeHosts() ? describe : describe.skip;

describeHosts('a worker on another host than npm start (takes root, for network namespaces)', () => {
  let folder: string;
  let hosts: TwoHosts;
  let service: Start;
  let api: HttpClient;
  let admin: HttpClient;
  let workflowId: string;

  const start = async () => {
    const args = ['--host', '0.0.0.0', '--port', String(port), '--data-dir', join(folder, 'data'), '--no-demo'];
    service = new Start(args, {}, TwoHosts.on(hosts.service));
    await service.ready();
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-far-'));
    hosts = new TwoHosts();
    execFileSync(process.execPath, [join(root, 'apps/worker/one-file.mjs'), join(folder, 'muster-worker.js')]);
    await start();
    const http = new HttpClient(await hosts.front(port, folder));
    const [, email, password] = /admin +(\S+@\S+) +(\S+)/.exec(service.said)!;
    admin = await http.signIn(email!, password!);
    api = http.withKey(/API key +(msk_\S+)/.exec(service.said)![1]!);
    workflowId = (await api.post('/api/workflows', { name: 'Far', script })).body.id;
  });
  afterAll(async () => {
    await service?.end('SIGTERM');
    await hosts?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  /** As its README says to start it, in a folder of its own. */
  const install = async (name: string, env: NodeJS.ProcessEnv = {}) => {
    const { agent, workerKey } = (await admin.post('/api/agents', { name, provider: 'external' })).body;
    const place = join(folder, name);
    await mkdir(place);
    const own = {
      PATH: process.env['PATH'],
      HOME: place,
      SERVICE_BASE_URL: `http://${hosts.service.address}:${port}`,
      SERVICE_API_KEY: workerKey as string,
      AGENT_ID: agent.id as string,
      ...env,
    };
    const child = hosts.run(hosts.worker, [process.execPath, join(folder, 'muster-worker.js')], own, place);
    const said: string[] = [];
    child.stderr!.on('data', (chunk: Buffer) => said.push(chunk.toString()));
    const statusOf = async () => (await api.get(`/api/agents/${agent.id}/status`)).body.status;
    await waitFor(`its handshake: ${said.join('')}`, async () => (await statusOf()) === 'online', 30_000);
    return agent.id as string;
  };

  const run = async (agentId: string) => {
    const { jobId } = (await api.post('/api/jobs/launch', { workflowId, agentId })).body;
    return waitFor('its end', async () => {
      const { body } = await api.get(`/api/jobs/${jobId}`);
      return !['queued', 'running'].includes(body.status) && body;
    });
  };
  const beganAfterMs = (job: { queuedAt: string; startedAt: string }) =>
    Date.parse(job.startedAt) - Date.parse(job.queuedAt);

  it('has its runs within a second, reaches the service from them, and leaves files that outlive a restart', async () => {
    const agentId = await install('plain');
    expect((await api.get(`/api/agents/${agentId}`)).body).toMatchObject({ tunnelUrl: null, publicTunnelUrl: null });
    const jobs = [];
    for (let i = 0; i < 3; i += 1) jobs.push(await run(agentId));
    const base = `http://${hosts.service.address}:${port}`;
    for (const job of jobs) expect(job).toMatchObject({ status: 'completed', result: { health: 200, base } });
    expect(Math.min(...jobs.map(beganAfterMs))).toBeLessThan(1000);

    const { artifacts } = (await api.get(`/api/artifacts?agentId=${agentId}`)).body;
    const { downloadUrl } = (await api.get(`/api/artifacts/${artifacts[0].id}`)).body;
    expect(new URL(downloadUrl).origin).toBe(api.url);
    expect(await (await fetch(downloadUrl)).text()).toBe('far away');
    expect(await service.end('SIGTERM')).toBe(0);
    await start();
    expect(await (await fetch(downloadUrl)).text()).toBe('far away');
    const after = await waitFor('a run after it', () => run(agentId));
    expect(after.status).toBe('completed');
  });

  it('has them as soon with a tunnel that leads nowhere, or to the service’s own host; nothing comes there', async () => {
    hosts.run(hosts.service, [process.execPath, '-e', trap], { PATH: process.env['PATH'] }, folder);
    const tunnels = ['http://127.0.0.1:4711', 'http://localhost:4711', `http://${hosts.service.address}:${port}`];
    for (const [at, tunnel] of tunnels.entries()) {
      const agentId = await install(`wrong-${at}`, { MUSTER_TUNNEL_HOSTNAME: tunnel });
      const jobs = [await run(agentId), await run(agentId)];
      expect(jobs.map(({ status }) => status)).toEqual(['completed', 'completed']);
      expect(Math.min(...jobs.map(beganAfterMs))).toBeLessThan(1000);
    }
    const caught = join(folder, 'caught');
    expect(existsSync(caught) ? readFileSync(caught, 'utf8') : '').toBe('');
  });
});
