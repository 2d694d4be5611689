// This test is long because it kills processes while a browser files a claim.
// A short test of the same code: apps/standalone/src/autopilot/sessions.spec.ts
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FakePortal, findFreePort, killAll, findProcesses, waitFor } from '@muster/testing';
import { type DevProxy, startDevProxy } from '../../../../tools/dev-proxy/src/dev-proxy';
import { createSeededRandom } from '../seed';
import { root } from '../service-process';
import { apps } from './kill-pause-points';
import { scriptPortalAnswers, buildPortalTask } from './portal-task';
import { SessionKills, type Sessions } from './session-kills';

jest.setTimeout(600_000);

const hasChromium = (process.env['PATH'] ?? '')
  .split(delimiter)
  .some((folder) => ['chromium', 'google-chrome', 'chromium-browser'].some((name) => existsSync(join(folder, name))));
const itPlays = hasChromium ? it : it.skip;
const seed = Number(process.env['MUSTER_SEED'] ?? 3);

describe(`a claim at a portal while processes are killed${hasChromium ? '' : ' (skipped: no Chromium)'}`, () => {
  let stage: SessionKills;
  let portal: FakePortal;
  let proxy: DevProxy;
  let worker: ChildProcess;
  let agentId: string;
  let workerKey: string;
  let folder: string;

  beforeAll(async () => {
    if (!hasChromium) return;
    const port = await findFreePort();
    folder = mkdtempSync(join(tmpdir(), 'muster-portal-kills-'));
    [stage, portal] = await Promise.all([
      SessionKills.openFixture({ PUBLIC_APP_URL: `http://localhost:${port}` }),
      FakePortal.start(),
    ]);
    const nowhere = 'http://127.0.0.1:9';
    const served = Object.fromEntries(apps.map((app) => [app, stage.getUrl(app)])) as Record<
      (typeof apps)[number],
      string
    >;
    proxy = await startDevProxy({ port, apps: { ...served, metering: nowhere, 'feedback-sync': nowhere } });
    await stage.api.put('/api/vault/PORTAL_PASSWORD', { value: portal.password });
    stage.model.secrets.push(portal.password);
    scriptPortalAnswers(stage.model);
    const { body } = await stage.api.post('/api/agents', { name: 'Front desk', provider: 'external' });
    [agentId, workerKey] = [body.agent.id as string, body.workerKey as string];
    await startWorker();
  });
  afterAll(async () => {
    if (!hasChromium) return;
    worker.kill('SIGKILL');
    killAll(findProcesses(folder));
    await stage.closeFixture();
    await Promise.all([portal.close(), proxy.close()]);
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  });

  const startWorker = async () => {
    worker = spawn(process.execPath, [join(root, 'dist/apps/worker/src/main.js')], {
      env: {
        ...{ PATH: process.env['PATH'], SERVICE_BASE_URL: proxy.url, SERVICE_API_KEY: workerKey },
        ...{ AGENT_ID: agentId, MUSTER_WORKER_DIR: folder },
      },
      stdio: 'ignore',
    });
    await waitFor(
      'the worker to be online',
      async () => (await stage.api.get(`/api/agents/${agentId}`)).body.status === 'online',
      30_000,
    );
  };
  const killWorker = async () => {
    const gone = once(worker, 'exit');
    worker.kill('SIGKILL');
    await gone;
  };
  const startClaimSession = async (claim: string): Promise<Sessions> => {
    const session = { agentId, title: `File ${claim}`, idempotencyKey: claim };
    await stage.beginSession(session, {
      task: buildPortalTask(session.title, portal),
      inputs: { PORTAL_USER: portal.user, CLAIM_ID: claim },
      vaultKeys: ['PORTAL_PASSWORD'],
    });
    return session;
  };
  const expectClaimFiled = async (session: Sessions, claim: string) => {
    try {
      const { status, error, pausedFor } = await stage.waitForStatus(session, ['completed', 'failed', 'paused']);
      expect([status, error, pausedFor]).toEqual(['completed', null, null]);
    } catch (error) {
      process.stdout.write(`${await stage.describeState()}\n`);
      throw error;
    }
    expect(portal.countSubmissions(claim)).toBe(1);
    expect(stage.model.faults).toEqual([]);
  };

  itPlays(
    'a claim is filed once if all processes and the worker are killed while the portal receives the claim',
    async () => {
      let killed: Promise<void> | undefined;
      portal.onSubmit = () =>
        (killed ??= (async () => {
          await Promise.all([stage.killApps(...apps), killWorker()]);
        })());
      const session = await startClaimSession('C-1001');
      await waitFor('the claim to reach the portal', () => killed !== undefined, 90_000);
      await killed;
      await Promise.all(apps.map((app) => stage.startApp(app)));
      await startWorker();
      await expectClaimFiled(session, 'C-1001');
    },
  );

  itPlays('a claim is filed once if processes are killed one after the other at seeded times', async () => {
    portal.onSubmit = () => undefined;
    const random = createSeededRandom(seed);
    const session = await startClaimSession('C-1002');
    const killed: string[] = [];
    for (let times = 0; times < 4; times += 1) {
      await sleep(random.between(0, 2500));
      const app = apps[random.between(0, apps.length - 1)]!;
      killed.push(app);
      await stage.killApps(app);
      await stage.startApp(app);
    }
    await expectClaimFiled(session, 'C-1002');
    process.stdout.write(`seed ${seed}: killed ${killed.join(', ')}; the claim was filed once\n`);
  });
});
