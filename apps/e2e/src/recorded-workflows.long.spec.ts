// This test is long because it plays recordings in a real browser.
// A short test of the same code: libs/workflows/src/recordings/read-recording.spec.ts
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { BrowserDriver, findFreePort, HttpClient, waitFor } from '@muster/testing';
import { findProcesses, Start } from './npm-start';
import { packWithPython } from './packed-zip';
import { root } from './service-process';

jest.setTimeout(180_000);

const chromium = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => ['chromium', 'google-chrome', 'chromium-browser'].map((name) => join(folder, name)))
  .find((path) => existsSync(path));
const itPlays = chromium ? it : it.skip;

describe(`a recorded workflow${chromium ? '' : ' (skipped: no Chromium on PATH)'}`, () => {
  let folder: string;
  let start: Start | undefined;
  let worker: ChildProcess | undefined;
  let portal: Server;
  let admin: HttpClient;
  let base: string;
  let installed: { agentId: string; workerKey: string } | undefined;
  /** The texts that pages have reported to the portal. */
  const reported: string[] = [];

  beforeAll(async () => {
    if (!chromium) return;
    folder = await mkdtemp(join(tmpdir(), 'muster-recorded-'));
    portal = createServer((request, response) => {
      const { pathname, search } = new URL(request.url!, 'http://portal');
      if (pathname === '/seen') reported.push(decodeURIComponent(search.slice(1)));
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(
        '<title>Claims</title><label for="claim">Claim</label><input id="claim"><input type="password" id="pin"><button ' +
          'onclick="document.title = `seen ${claim.value} ${pin.value}`.trim(); ' +
          'if (pin.value) fetch(`/seen?` + encodeURIComponent(`${claim.value} ${pin.value}`))">Look up</button>',
      );
    });
    portal.listen(0, '127.0.0.1');
    await once(portal, 'listening');
    // A script that records the agent's id and starts the browser. The worker can find the script only by the variable
    // CHROMIUM.
    const browser = join(folder, 'a browser');
    await writeFile(browser, `#!/bin/sh\necho "$AGENT_ID" >> '${folder}/started'\nexec '${chromium}' "$@"\n`, {
      mode: 0o700,
    });
    const port = await findFreePort();
    start = new Start(['--port', String(port), '--data-dir', join(folder, '.muster/data'), '--no-demo'], {
      CHROMIUM: browser,
    });
    await start.waitUntilReady();
    const [, email, password] = /admin +(\S+@\S+) +(\S+)/.exec(start.output)!;
    base = `http://127.0.0.1:${port}`;
    admin = await new HttpClient(base).signIn(email!, password!);
  });
  afterAll(async () => {
    if (!chromium) return;
    worker?.kill('SIGKILL');
    await start?.endStart('SIGTERM');
    portal.close();
    expect(findProcesses(join(folder, '.muster/data'))).toEqual([]);
    await rm(folder, { recursive: true, force: true });
  });

  const uploadRecordedWorkflow = async () => {
    const { port } = portal.address() as AddressInfo;
    const steps = [
      { type: 'navigate', url: `http://127.0.0.1:${port}/` },
      { type: 'change', value: '{{CLAIM_ID}}', selectors: [['aria/Claim']] },
      { type: 'click', offsetX: 2, offsetY: 2, selectors: [['text/Look up']] },
      { type: 'waitForExpression', expression: 'document.title === "seen C-7"' },
    ];
    const form = new FormData();
    form.set('recording', new Blob([JSON.stringify({ title: 'Look up a claim', steps })]), 'recording.json');
    const answer = await fetch(`${base}/api/workflows/upload`, {
      method: 'POST',
      headers: (admin as unknown as { headers: Record<string, string> }).headers,
      body: form,
    });
    expect(answer.status).toBe(201);
    return ((await answer.json()) as { id: string }).id;
  };
  const waitUntilOnline = (agentId: string) =>
    waitFor('the agent to be online', async () => (await admin.get(`/api/agents/${agentId}`)).body.status === 'online');
  const runWorkflow = async (agentId: string, launchInput?: object) => {
    await waitUntilOnline(agentId);
    const input = launchInput ?? { workflowId: await uploadRecordedWorkflow(), variables: { CLAIM_ID: 'C-7' } };
    const { body } = await admin.post('/api/jobs/launch', { agentId, ...input });
    return waitFor(
      'the end of the run',
      async () => {
        const job = (await admin.get(`/api/jobs/${body.jobId}`)).body;
        return job.status !== 'queued' && job.status !== 'running' && job;
      },
      90_000,
    );
  };
  const makeAgent = async (provider: string) =>
    (await admin.post('/api/agents', { name: `The ${provider} one`, provider })).body;
  /**
   * Returns the targets of the symbolic links into the test's folder that were not removed. Links of other tests are
   * ignored.
   */
  const listTemporaryLinks = () =>
    readdirSync(tmpdir())
      .filter((name) => /^muster-[0-9a-f]{12}$/.test(name))
      .map((name) => readLinkTarget(join(tmpdir(), name)))
      .filter((target) => target.startsWith(folder));
  const completed = { error: null, status: 'completed', progress: expect.objectContaining({ stepsPassed: 4 }) };

  itPlays('a recorded workflow runs on a local agent of npm start, in the browser that CHROMIUM names', async () => {
    const { agent } = await makeAgent('local');
    expect(await runWorkflow(agent.id)).toMatchObject(completed);
    expect((await readFile(join(folder, 'started'), 'utf8')).trim()).toBe(agent.id);
    expect(listTemporaryLinks()).toEqual([]);
  });

  itPlays('a recorded workflow runs on an installed one-file worker with a very long folder path', async () => {
    const { agent, workerKey } = await makeAgent('external');
    const home = join(folder, 'home/practice-of-doctors-anderson-and-bergstrom/.muster-worker');
    mkdirSync(home, { recursive: true });
    const file = join(folder, 'muster-worker.js');
    execFileSync(process.execPath, [join(root, 'apps/worker/one-file.mjs'), file]);
    worker = spawn(process.execPath, [file], {
      cwd: folder,
      stdio: 'ignore',
      env: {
        PATH: process.env['PATH'],
        SERVICE_BASE_URL: base,
        SERVICE_API_KEY: workerKey,
        AGENT_ID: agent.id,
        MUSTER_WORKER_DIR: home,
      },
    });
    expect(await runWorkflow(agent.id)).toMatchObject(completed);
    rmSync(file);
    installed = { agentId: agent.id, workerKey };
  });

  /** Sends an action that becomes a command, and waits for its result. */
  const performAgentAction = async (agentId: string, action: object) => {
    const { body } = await admin.post(`/api/agent/${agentId}/action`, action);
    const result = await waitFor(
      'the result of the action',
      async () => {
        const path = `/api/agents/${agentId}/run-snippet/status?commandId=${body.commandId}`;
        const answer = (await admin.get(path)).body;
        return answer.status !== 'pending' && answer;
      },
      60_000,
    );
    const output = result.output ? JSON.parse(result.output) : undefined;
    return { ...body, result, output };
  };

  itPlays(
    'a recording of the installed worker becomes a workflow, which runs with a password from the vault',
    async () => {
      const { agentId } = installed!;
      const { port } = portal.address() as AddressInfo;
      const startUrl = `http://127.0.0.1:${port}/`;
      const started = await performAgentAction(agentId, {
        action: 'start_recording',
        name: 'By hand',
        kind: 'browser',
        startUrl,
      });
      expect([started.result.error, started.result.status]).toEqual([undefined, 'success']);
      const { recordingId } = started;
      const person = await BrowserDriver.connect(started.output.debuggingUrl);
      await person.click('document.querySelector("#claim")');
      await person.type('C-8');
      await person.click('document.querySelector("#pin")');
      await person.type('hunter2');
      await person.click('document.querySelector("button")');
      await person.waitUntilTrue('document.title === "seen C-8 hunter2"');
      person.close();
      const { output } = await performAgentAction(agentId, { action: 'stop_recording', recordingId });
      const recording = (await admin.get(`/api/recordings/${recordingId}`)).body;
      expect(recording).toMatchObject({ status: 'kept', kind: 'browser', startUrl, name: 'By hand' });
      expect(recording.eventsArtifactId).toEqual(expect.any(String));
      expect(recording.artifactId !== null).toBe(output.video !== undefined);
      const events = (await admin.get(`/api/artifacts/${recording.eventsArtifactId}`)).body;
      expect(await (await fetch(events.downloadUrl)).text()).not.toContain('hunter2');

      const created = await admin.post('/api/workflows/upload', { recordingId });
      expect(created).toMatchObject({ status: 201, body: { name: 'By hand', variables: [] } });
      await admin.put('/api/vault/PASSWORD', { value: 'other-secret' });
      reported.length = 0;
      const job = await runWorkflow(agentId, { workflowId: created.body.id, vaultKeys: ['PASSWORD'] });
      expect([job.error, job.status]).toEqual([null, 'completed']);
      expect(reported).toEqual(['C-8 other-secret']);
    },
  );

  itPlays('a recorded workflow runs with the extension that was deployed to the installed worker', async () => {
    const { agentId, workerKey } = installed!;
    const machine = new HttpClient(base).withKey(workerKey);
    const bytes = packWithPython({
      'manifest.json': JSON.stringify({
        manifest_version: 3,
        name: 'Marker',
        version: '1.4.0',
        content_scripts: [{ matches: ['<all_urls>'], js: ['mark.js'] }],
      }),
      'mark.js': 'addEventListener("click", () => fetch("/seen?" + encodeURIComponent("marked by 1.4.0")))',
    });
    const upload = { filename: 'marker-1.4.0.zip', contentType: 'application/zip', size: bytes.length };
    const { body: ticket } = await machine.post(`/api/agents/${agentId}/uploads`, upload);
    await fetch(ticket.uploadUrl, { method: 'PUT', headers: ticket.headers, body: new Uint8Array(bytes) });
    const deployed = await performAgentAction(agentId, { action: 'deploy_extension', version: '1.4.0' });
    expect([deployed.result.error, deployed.output?.version]).toEqual([undefined, '1.4.0']);
    const missing = await performAgentAction(agentId, { action: 'deploy_extension', version: '2.0' });
    expect(missing.result).toMatchObject({ status: 'failed', code: 'extension_not_found' });
    reported.length = 0;
    expect(await runWorkflow(agentId)).toMatchObject(completed);
    expect(reported).toContain('marked by 1.4.0');
  });
});

function readLinkTarget(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}
