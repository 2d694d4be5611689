import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { HttpClient, waitFor } from '@muster/testing';
import { freePort, processesOf, Start } from './npm-start';
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

  beforeAll(async () => {
    if (!chromium) return;
    folder = await mkdtemp(join(tmpdir(), 'muster-recorded-'));
    portal = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(
        '<title>Claims</title><label for="claim">Claim</label><input id="claim"><button ' +
          'onclick="document.title = `seen ${claim.value}`">Look up</button>',
      );
    });
    portal.listen(0, '127.0.0.1');
    await once(portal, 'listening');
    // A browser that only CHROMIUM leads to, and that writes down whom it was started for.
    const browser = join(folder, 'a browser');
    await writeFile(browser, `#!/bin/sh\necho "$AGENT_ID" >> '${folder}/started'\nexec '${chromium}' "$@"\n`, {
      mode: 0o700,
    });
    const port = await freePort();
    start = new Start(['--port', String(port), '--data-dir', join(folder, '.muster/data'), '--no-demo'], {
      CHROMIUM: browser,
    });
    await start.ready();
    const [, email, password] = /admin +(\S+@\S+) +(\S+)/.exec(start.said)!;
    base = `http://127.0.0.1:${port}`;
    admin = await new HttpClient(base).signIn(email!, password!);
  });
  afterAll(async () => {
    if (!chromium) return;
    worker?.kill('SIGKILL');
    await start?.end('SIGTERM');
    portal.close();
    expect(processesOf(join(folder, '.muster/data'))).toEqual([]);
    await rm(folder, { recursive: true, force: true });
  });

  const upload = async () => {
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
  const run = async (agentId: string) => {
    await waitFor('the agent', async () => (await admin.get(`/api/agents/${agentId}`)).body.status === 'online');
    const launch = { agentId, workflowId: await upload(), variables: { CLAIM_ID: 'C-7' } };
    const { body } = await admin.post('/api/jobs/launch', launch);
    return waitFor(
      'its end',
      async () => {
        const job = (await admin.get(`/api/jobs/${body.jobId}`)).body;
        return job.status !== 'queued' && job.status !== 'running' && job;
      },
      90_000,
    );
  };
  const makeAgent = async (provider: string) =>
    (await admin.post('/api/agents', { name: `The ${provider} one`, provider })).body;
  const links = () => readdirSync(tmpdir()).filter((name) => /^muster-[0-9a-f]{12}$/.test(name));
  const completed = { error: null, status: 'completed', progress: expect.objectContaining({ stepsPassed: 4 }) };

  itPlays(
    'runs on a local machine of npm start, below its default data folder, in the browser of CHROMIUM',
    async () => {
      const before = links();
      const { agent } = await makeAgent('local');
      expect(await run(agent.id)).toMatchObject(completed);
      expect((await readFile(join(folder, 'started'), 'utf8')).trim()).toBe(agent.id);
      expect(links()).toEqual(before);
    },
  );

  itPlays('runs on an installed worker: its one file, in a folder as deep as they get', async () => {
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
    expect(await run(agent.id)).toMatchObject(completed);
    rmSync(file);
  });
});
