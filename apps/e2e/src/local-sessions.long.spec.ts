// This test is long because it runs an autopilot session in a real browser under npm start.
// A short test of the same code: apps/standalone/src/autopilot/sessions.spec.ts
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { FakeModel, FakePortal, findFreePort, HttpClient, killAll, waitFor } from '@muster/testing';
import { findProcesses, Start } from './npm-start';

jest.setTimeout(180_000);

const chromium = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => ['chromium', 'google-chrome', 'chromium-browser'].map((name) => join(folder, name)))
  .find((path) => existsSync(path));
const itPlays = chromium ? it : it.skip;

describe(`a session on a local agent of npm start${chromium ? '' : ' (skipped: no Chromium on PATH)'}`, () => {
  let folder: string;
  let start: Start;
  let portal: FakePortal;
  let model: FakeModel;
  let admin: HttpClient;
  let agentId: string;

  beforeAll(async () => {
    if (!chromium) return;
    folder = await mkdtemp(join(tmpdir(), 'muster-sessions-'));
    [portal, model] = await Promise.all([FakePortal.start(), FakeModel.start()]);
    model.addRule(() => ({ json: { status: 'unsure', reason: '', question: 'Where?', confidence: 0.1, actions: [] } }));
    // A script that starts the browser. The worker finds it only by the variable CHROMIUM. The test finds its extra
    // argument in the process list.
    const browser = join(folder, 'a browser');
    await writeFile(browser, `#!/bin/sh\nexec '${chromium}' --led-to-by-name "$@"\n`, { mode: 0o755 });
    const port = await findFreePort();
    start = new Start(['--port', String(port), '--data-dir', join(folder, '.muster/data'), '--no-demo'], {
      CHROMIUM: browser,
      ...model.environment,
    });
    await start.waitUntilReady();
    const [, email, password] = /admin +(\S+@\S+) +(\S+)/.exec(start.output)!;
    admin = await new HttpClient(`http://127.0.0.1:${port}`).signIn(email!, password!);
    agentId = (await admin.post('/api/agents', { name: 'Front desk', provider: 'local' })).body.agent.id;
    await waitFor(
      'the agent to be online',
      async () => (await admin.get(`/api/agents/${agentId}`)).body.status === 'online',
    );
  });
  afterAll(async () => {
    if (!chromium) return;
    await start.endStart('SIGTERM');
    await Promise.all([portal.close(), model.close()]);
    expect(findProcesses(join(folder, '.muster/data'))).toEqual([]);
    await rm(folder, { recursive: true, force: true });
  });

  /** Starts a session that only verifies a page, so that it needs no answer of the model. */
  const beginSession = async (text: string) => {
    const task = {
      ...{ title: `See ${text}`, goal: 'See it.', startUrl: `${portal.url}/login`, inputs: [] },
      steps: [{ id: 'see', title: 'See it', instruction: 'See it.', expect: { text }, kind: 'verify' }],
      success: { description: 'it was seen' },
    };
    const { status, body } = await admin.post(`/api/agents/${agentId}/autopilot`, { action: 'start', task });
    expect([status, body.status]).toEqual([202, 'queued']);
    return body.sessionId as string;
  };
  const readSession = async (sessionId: string) =>
    (await admin.get(`/api/agents/${agentId}/autopilot?sessionId=${sessionId}`)).body;
  const waitForSessionStatus = (sessionId: string, statuses: string[]): Promise<any> =>
    waitFor(
      statuses.join(' or '),
      async () => {
        const session = await readSession(sessionId);
        return statuses.includes(session.status) && session;
      },
      60_000,
    );
  /** The browser's processes, of any user and in any namespace. */
  const findBrowserProcesses = () =>
    findProcesses(join(folder, '.muster/data')).filter(({ command }) => command.includes('muster-browser-'));

  itPlays('a local session uses the browser that CHROMIUM names, and leaves no browser process', async () => {
    const session = await waitForSessionStatus(await beginSession('User name'), ['completed', 'failed', 'paused']);
    expect([session.status, session.error, session.pausedFor]).toEqual(['completed', null, null]);
    expect(portal.requests.some(({ path }) => path === '/login')).toBe(true);
    await waitFor('the browser to end', () => findBrowserProcesses().length === 0);
  });

  itPlays.each(['stop', 'reboot'])('the browser of a local session ends with its machine on %s', async (action) => {
    const sessionId = await beginSession('never to be seen');
    await waitFor('the browser', () =>
      findBrowserProcesses().some(({ command }) => command.includes('--led-to-by-name')),
    );
    expect((await admin.post(`/api/agent/${agentId}/action`, { action, force: true })).status).toBeLessThan(300);
    await waitFor('the browser to end', () => findBrowserProcesses().length === 0, 60_000);
    expect((await admin.post(`/api/agents/${agentId}/autopilot`, { action: 'cancel', sessionId })).status).toBe(202);
    await waitForSessionStatus(sessionId, ['cancelled']);
    if (action === 'stop') await admin.post(`/api/agent/${agentId}/action`, { action: 'start' });
    await waitFor(
      'the agent to be online again',
      async () => (await admin.get(`/api/agents/${agentId}`)).body.status === 'online',
      60_000,
    );
  });

  itPlays('a session is cancelled and its browser is ended even if its worker was killed before', async () => {
    const sessionId = await beginSession('never to be seen');
    await waitFor('the browser', () => findBrowserProcesses().length > 0);
    const workers = findProcesses(join(folder, '.muster/data')).filter(({ command }) =>
      /worker\/src\/main\.js/.test(command),
    );
    killAll(
      workers.map(({ pid }) => pid).filter((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8').includes(agentId)),
    );
    expect((await admin.post(`/api/agents/${agentId}/autopilot`, { action: 'cancel', sessionId })).status).toBe(202);
    await waitForSessionStatus(sessionId, ['cancelled']);
    await waitFor('the browser to end', () => findBrowserProcesses().length === 0, 60_000);
  });

  describe('a stopped local agent of npm start', () => {
    const setAutoWake = (vmAutoWakeOnJob: boolean) =>
      admin.patch('/api/organization/settings', { vmAutoWakeOnJob }).then(({ status }) => expect(status).toBe(200));
    const readAgentStatus = async () => (await admin.get(`/api/agents/${agentId}`)).body.status as string;
    const stopAgent = async () => {
      expect((await admin.post(`/api/agent/${agentId}/action`, { action: 'stop' })).status).toBeLessThan(300);
      await waitFor('the stop', async () => (await readAgentStatus()) === 'stopped', 60_000);
    };
    /** Lifecycle events since the stop, oldest first. */
    const listLifecycleEvents = async () => {
      const { body } = await admin.get(`/api/agents/${agentId}/logs?kind=lifecycle&order=desc&limit=20`);
      const types = body.entries.map(({ data }: { data: { eventType: string } }) => data.eventType) as string[];
      return types.slice(0, types.indexOf('manual_stop')).reverse();
    };
    const sendChatMessage = (message: string) =>
      admin.post(`/api/agents/${agentId}/chat`, { message, autoConfirm: true });
    beforeEach(() => {
      if (chromium) return stopAgent();
    });
    afterEach(async () => {
      if (!chromium) return;
      model.reset();
      await setAutoWake(true);
      if ((await readAgentStatus()) === 'stopped')
        await admin.post(`/api/agent/${agentId}/action`, { action: 'start' });
      await waitFor('the agent to be online again', async () => (await readAgentStatus()) === 'online', 60_000);
    });

    itPlays('a stopped local agent is woken for a session, which then continues automatically', async () => {
      const sessionId = await beginSession('User name');
      expect((await readSession(sessionId)).status).toBe('queued');
      const session = await waitForSessionStatus(sessionId, ['completed', 'failed', 'paused']);
      expect([session.status, session.error]).toEqual(['completed', null]);
      expect(await listLifecycleEvents()).toEqual(['wake_requested', 'wake_ready']);
    });

    itPlays(
      'a stopped local agent is woken for a snippet of a chat, which reports the snippet as pending',
      async () => {
        model.addResponses(
          { toolCalls: [{ name: 'run_snippet', arguments: { code: 'print("awake")' } }] },
          'It wakes up.',
        );
        const { body } = await sendChatMessage('Print awake');
        expect(body.toolCalls).toMatchObject([{ status: 'done', result: { status: 'pending' } }]);
        const { commandId } = body.toolCalls[0].result;
        const snippet = await waitFor(
          'the snippet',
          async () => {
            const path = `/api/agents/${agentId}/run-snippet/status?commandId=${commandId}`;
            const { body: command } = await admin.get(path);
            return command.status !== 'pending' && command;
          },
          60_000,
        );
        expect(snippet).toMatchObject({ status: 'success', output: 'awake\n' });
        expect(await listLifecycleEvents()).toEqual(['wake_requested', 'wake_ready']);
      },
    );

    itPlays(
      'a stopped local agent refuses sessions and snippets if auto-wake is off, and its timeline has the reason',
      async () => {
        await setAutoWake(false);
        const task = {
          ...{ title: 'See it', goal: 'See it.', startUrl: `${portal.url}/login`, inputs: [] },
          steps: [{ id: 'see', title: 'See it', instruction: 'See it.', expect: { text: 'User' }, kind: 'verify' }],
          success: { description: 'it was seen' },
        };
        const before = (await admin.get(`/api/agents/${agentId}/autopilot`)).body.sessions.length as number;
        const refused = await admin.post(`/api/agents/${agentId}/autopilot`, { action: 'start', task });
        expect(refused).toMatchObject({ status: 409, body: { code: 'agent_not_ready', agentStatus: 'stopped' } });
        expect(refused.body.detail).toMatch(/vmAutoWakeOnJob is off; start it manually/);
        expect((await admin.get(`/api/agents/${agentId}/autopilot`)).body.sessions).toHaveLength(before);
        model.addResponses({ toolCalls: [{ name: 'run_snippet', arguments: { code: 'print(1)' } }] }, 'It is off.');
        const { body } = await sendChatMessage('Print one');
        expect(body).toMatchObject({
          reply: 'It is off.',
          toolCalls: [{ status: 'failed', code: 'agent_not_ready', error: expect.stringMatching(/start it manually/) }],
        });
        expect(await readAgentStatus()).toBe('stopped');
        // A refusal is recorded at most once in ten minutes, so the two refused requests cause one entry.
        expect(await listLifecycleEvents()).toEqual(['wake_blocked']);
      },
    );
  });
});
