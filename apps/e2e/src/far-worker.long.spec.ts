// This test is long because it plays and records steps in a browser on another host, and tries wrong tunnels.
// A short test of the same code: apps/e2e/src/far-worker.spec.ts
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { HttpClient, waitFor } from '@muster/testing';
import { packWithPython } from './packed-zip';
import { servicePort, computeStartDelayMs, TwoHostService } from './two-host-service';
import { canMakeHosts } from './two-hosts';

jest.setTimeout(240_000);

/** A site that only the worker's host can reach. */
const portal = `require('http').createServer((request, response) => {
  const query = new URL(request.url, 'http://portal').searchParams;
  const secret = query.get('p') || '';
  response.setHeader('content-type', 'text/html');
  response.end(query.has('c') ? '<h1>' + query.get('c') + ' by ' + secret.length + ' letters</h1>'
    : '<h1>Search</h1><form><label>Claim <input name=c></label><label>Password<input type=password name=p></label>' +
      '<button>Find</button></form>');
}).listen(4712, '127.0.0.1')`;
/** A server that records every connection in a file. The service must not connect to it. */
const trap = `require('net').createServer((socket) => {
  require('fs').appendFileSync('caught', 'somebody'); socket.destroy();
}).listen(4711, '127.0.0.1')`;

const chromium = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((each) => ['chromium', 'google-chrome', 'chromium-browser'].map((name) => join(each, name)))
  .find((path) => existsSync(path));
const itPlays = chromium ? it : it.skip;
const describeHosts = canMakeHosts() ? describe : describe.skip;

describeHosts('a worker on another host than npm start (requires root for network namespaces)', () => {
  let fixture: TwoHostService;
  let api: HttpClient;
  let admin: HttpClient;
  let workflowId: string;

  beforeAll(async () => {
    fixture = await TwoHostService.open();
    ({ api, admin } = fixture);
    fixture.hosts.runOnHost(
      fixture.hosts.worker,
      [process.execPath, '-e', portal],
      { PATH: process.env['PATH'] },
      fixture.folder,
    );
    workflowId = (await api.post('/api/workflows', { name: 'Far', script: 'print("far away")' })).body.id;
  });
  afterAll(() => fixture?.close());

  itPlays(
    'a worker on another host plays the steps of a workflow in its own browser, and reports each step',
    async () => {
      const agentId = await fixture.installWorker('player', { CHROMIUM: chromium! });
      await admin.put('/api/vault/PORTAL_PASSWORD', { value: 'hunter2' });
      const launchBrowserSteps = async (steps: object[], more: object = {}) => {
        const numbered = steps.map((step, at) => ({ id: `s${at + 1}`, ...step }));
        const created = await api.post('/api/workflows', { name: 'Steps', variables: ['CLAIM'], steps: numbered });
        expect(created.body.script).toBe('');
        const body = { workflowId: created.body.id, agentId, variables: { CLAIM: 'C-7' }, ...more };
        return fixture.waitForEnd((await api.post('/api/jobs/launch', body)).body.jobId);
      };
      const job = await launchBrowserSteps(
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
      const failed = await launchBrowserSteps([
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
    },
  );

  /** Sends an action that becomes a command, and waits for the worker's result. */
  const performAgentAction = async (agentId: string, action: object) => {
    const { body } = await admin.post(`/api/agent/${agentId}/action`, action);
    const path = `/api/agents/${agentId}/run-snippet/status?commandId=${body.commandId}`;
    const finished = await waitFor(
      'the result of the action',
      async () => {
        const { body: result } = await admin.get(path);
        return result.status !== 'pending' && result;
      },
      60_000,
    );
    return { ...body, error: finished.error, output: finished.output && JSON.parse(finished.output) };
  };

  itPlays(
    'a worker on another host records its browser, runs the recorded workflow, and installs an extension',
    async () => {
      const agentId = await fixture.installWorker('recorder', { CHROMIUM: chromium! });
      const startUrl = 'http://127.0.0.1:4712/';
      const { recordingId, error } = await performAgentAction(agentId, {
        action: 'start_recording',
        kind: 'browser',
        startUrl,
      });
      expect(error).toBeUndefined();
      expect((await performAgentAction(agentId, { action: 'stop_recording', recordingId })).error).toBeUndefined();
      const created = await api.post('/api/workflows/upload', { recordingId });
      expect(created.status).toBe(201);
      expect(created.body.steps).toContainEqual(expect.objectContaining({ type: 'navigate', url: startUrl }));
      const { jobId } = (await api.post('/api/jobs/launch', { workflowId: created.body.id, agentId })).body;
      expect(await fixture.waitForEnd(jobId)).toMatchObject({ status: 'completed', error: null });

      const bytes = packWithPython({
        'manifest.json': JSON.stringify({ manifest_version: 3, name: 'Far', version: '2.1.0' }),
      });
      const machine = new HttpClient(api.url).withKey(fixture.workerKeys.get(agentId)!);
      const upload = { filename: 'far-2.1.0.zip', contentType: 'application/zip', size: bytes.length };
      const { body: ticket } = await machine.post(`/api/agents/${agentId}/uploads`, upload);
      await fetch(ticket.uploadUrl, { method: 'PUT', headers: ticket.headers, body: new Uint8Array(bytes) });
      const deployed = await performAgentAction(agentId, { action: 'deploy_extension', version: '2.1.0' });
      expect([deployed.error, deployed.output?.version]).toEqual([undefined, '2.1.0']);
    },
  );

  it('a worker’s tunnel address that leads to the service’s own host is ignored, and the worker’s runs are not delayed', async () => {
    fixture.hosts.runOnHost(
      fixture.hosts.service,
      [process.execPath, '-e', trap],
      { PATH: process.env['PATH'] },
      fixture.folder,
    );
    const tunnels = [
      'http://127.0.0.1:4711',
      'http://localhost:4711',
      `http://${fixture.hosts.service.address}:${servicePort}`,
    ];
    for (const [at, tunnel] of tunnels.entries()) {
      const agentId = await fixture.installWorker(`wrong-${at}`, { MUSTER_TUNNEL_HOSTNAME: tunnel });
      const jobs = [await fixture.launchJob(workflowId, agentId), await fixture.launchJob(workflowId, agentId)];
      expect(jobs.map(({ status }) => status)).toEqual(['completed', 'completed']);
      expect(Math.min(...jobs.map(computeStartDelayMs))).toBeLessThan(1000);
    }
    const caught = join(fixture.folder, 'caught');
    expect(existsSync(caught) ? readFileSync(caught, 'utf8') : '').toBe('');
  });
});
