import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { HttpClient, waitFor } from '@muster/testing';
import { Start } from './npm-start';
import { packed } from './packed-zip';
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
/** A site that only the worker's host can see. */
const portal = `require('http').createServer((request, response) => {
  const asked = new URL(request.url, 'http://portal').searchParams;
  const secret = asked.get('p') || '';
  response.setHeader('content-type', 'text/html');
  response.end(asked.has('c') ? '<h1>' + asked.get('c') + ' by ' + secret.length + ' letters</h1>'
    : '<h1>Search</h1><form><label>Claim <input name=c></label><label>Password<input type=password name=p></label>' +
      '<button>Find</button></form>');
}).listen(4712, '127.0.0.1')`;
/** Writes down whoever connects. */
const trap = `require('net').createServer((socket) => {
  require('fs').appendFileSync('caught', 'somebody'); socket.destroy();
}).listen(4711, '127.0.0.1')`;

const chromium = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((each) => ['chromium', 'google-chrome', 'chromium-browser'].map((name) => join(each, name)))
  .find((path) => existsSync(path));
const itPlays = chromium ? it : it.skip;
const describeHosts = canMakeHosts() ? describe : describe.skip;

describeHosts('a worker on another host than npm start (takes root, for network namespaces)', () => {
  let folder: string;
  let hosts: TwoHosts;
  let service: Start;
  let api: HttpClient;
  let admin: HttpClient;
  let workflowId: string;
  /** By agent. */
  const workerKeys = new Map<string, string>();

  const start = async () => {
    const args = ['--host', '0.0.0.0', '--port', String(port), '--data-dir', join(folder, 'data'), '--no-demo'];
    service = new Start(args, {}, TwoHosts.on(hosts.service));
    await service.ready();
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-far-'));
    hosts = new TwoHosts();
    execFileSync(process.execPath, [join(root, 'apps/worker/one-file.mjs'), join(folder, 'muster-worker.js')]);
    hosts.run(hosts.worker, [process.execPath, '-e', portal], { PATH: process.env['PATH'] }, folder);
    await start();
    const http = new HttpClient(await hosts.front(port, folder));
    const [, email, password] = /admin +(\S+@\S+) +(\S+)/.exec(service.output)!;
    admin = await http.signIn(email!, password!);
    api = http.withKey(/API key +(msk_\S+)/.exec(service.output)![1]!);
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
    workerKeys.set(agent.id, workerKey);
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

  const ended = (jobId: string) =>
    waitFor(
      'its end',
      async () => {
        const { body } = await api.get(`/api/jobs/${jobId}`);
        return !['queued', 'running'].includes(body.status) && body;
      },
      60_000,
    );

  const run = async (agentId: string) => {
    const { jobId } = (await api.post('/api/jobs/launch', { workflowId, agentId })).body;
    return ended(jobId);
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

  itPlays('plays the steps of a workflow without a script in its own browser, each as a step of the run', async () => {
    const agentId = await install('player', { CHROMIUM: chromium! });
    await admin.put('/api/vault/PORTAL_PASSWORD', { value: 'hunter2' });
    const launch = async (steps: object[], more: object = {}) => {
      const numbered = steps.map((step, at) => ({ id: `s${at + 1}`, ...step }));
      const made = await api.post('/api/workflows', { name: 'Steps', variables: ['CLAIM'], steps: numbered });
      expect(made.body.script).toBe('');
      const body = { workflowId: made.body.id, agentId, variables: { CLAIM: 'C-7' }, ...more };
      return ended((await api.post('/api/jobs/launch', body)).body.jobId);
    };
    const job = await launch(
      [
        { type: 'goto', url: 'http://127.0.0.1:4712/' },
        { type: 'fill', field: 'Claim', value: '{{CLAIM}}' },
        { type: 'fill', field: 'Password', value: '{{PORTAL_PASSWORD}}' },
        { type: 'click', text: 'Find' },
        { type: 'extract', selector: 'h1', as: 'found' },
        { type: 'python', code: 'muster.result({"length": len(results["found"])})' },
        { type: 'screenshot' },
      ],
      { vaultKeys: ['PORTAL_PASSWORD'] },
    );
    expect(job).toMatchObject({
      status: 'completed',
      errorCode: null,
      result: { found: 'C-7 by 7 letters', length: 16 },
      progress: { stepsTotal: 7, stepsPassed: 7, stepsFailed: 0 },
    });
    expect((await (await fetch(job.screenshotUrl)).blob()).type).toBe('image/png');
    const failed = await launch([
      { type: 'goto', url: 'http://127.0.0.1:4712/' },
      { type: 'swipe', direction: 'left' },
      { type: 'click', text: 'Find' },
    ]);
    expect(failed).toMatchObject({
      status: 'failed',
      errorCode: 'unsupported_step',
      progress: { stepsPassed: 1, stepsFailed: 1 },
    });
    const { steps } = (await api.get(`/api/jobs/${failed.id}/steps`)).body;
    expect(steps.map(({ stepId, status }: { stepId: string; status: string }) => [stepId, status])).toEqual([
      ['s1', 'passed'],
      ['s2', 'failed'],
    ]);
  });

  /** An action that is a command, and what its worker says of it. */
  const act = async (agentId: string, action: object) => {
    const { body } = await admin.post(`/api/agent/${agentId}/action`, action);
    const path = `/api/agents/${agentId}/run-snippet/status?commandId=${body.commandId}`;
    const said = await waitFor(
      'its result',
      async () => {
        const { body: result } = await admin.get(path);
        return result.status !== 'pending' && result;
      },
      60_000,
    );
    return { ...body, error: said.error, output: said.output && JSON.parse(said.output) };
  };

  itPlays('records what is done in its browser, which becomes a workflow of it, and takes an extension', async () => {
    const agentId = await install('recorder', { CHROMIUM: chromium! });
    const startUrl = 'http://127.0.0.1:4712/';
    const { recordingId, error } = await act(agentId, { action: 'start_recording', kind: 'browser', startUrl });
    expect(error).toBeUndefined();
    expect((await act(agentId, { action: 'stop_recording', recordingId })).error).toBeUndefined();
    const made = await api.post('/api/workflows/upload', { recordingId });
    expect(made.status).toBe(201);
    expect(made.body.steps).toContainEqual(expect.objectContaining({ type: 'navigate', url: startUrl }));
    const { jobId } = (await api.post('/api/jobs/launch', { workflowId: made.body.id, agentId })).body;
    expect(await ended(jobId)).toMatchObject({ status: 'completed', error: null });

    const bytes = packed({
      'manifest.json': JSON.stringify({ manifest_version: 3, name: 'Far', version: '2.1.0' }),
    });
    const machine = new HttpClient(api.url).withKey(workerKeys.get(agentId)!);
    const upload = { filename: 'far-2.1.0.zip', contentType: 'application/zip', size: bytes.length };
    const { body: ticket } = await machine.post(`/api/agents/${agentId}/uploads`, upload);
    await fetch(ticket.uploadUrl, { method: 'PUT', headers: ticket.headers, body: new Uint8Array(bytes) });
    const deployed = await act(agentId, { action: 'deploy_extension', version: '2.1.0' });
    expect([deployed.error, deployed.output?.version]).toEqual([undefined, '2.1.0']);
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
