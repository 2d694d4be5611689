// This test is long because it kills a worker during a browser session.
// A short test of the same code: apps/worker/src/survival.spec.ts
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killAll, findProcesses, waitFor } from '@muster/testing';
import { buildRunCommand } from '../testing/worker-process.harness';
import { buildAction, chromium, noChromium, SessionHarness } from '../testing/session.harness';

const itOpens = chromium ? it : it.skip;
const submission = [
  buildAction('navigate', '', { value: '/submit?claim={{CLAIM_ID}}' }),
  buildAction('fill', 'aria/Amount', { value: '{{AMOUNT}}' }),
  buildAction('click', 'aria/Submit claim[role="button"]'),
];

describe(`A session whose worker or browser dies${noChromium}`, () => {
  let session: SessionHarness;
  beforeEach(async () => {
    session = await SessionHarness.start();
  });
  afterEach(async () => {
    await session.stop();
    expect(session.service.faults).toEqual([]);
    expect(session.listProcesses()).toEqual([]);
  });
  const isHeldUp = () => {
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    session.portal.onSubmit = () => held;
    return release;
  };

  itOpens(
    'a browser session is taken over by the next worker, on the same page and with its secrets redacted',
    async () => {
      await session.open('/login');
      await session.signIn();
      const before = session.listProcesses();
      await session.worker.kill('SIGKILL');
      expect(session.listProcesses()).toEqual(before);
      await session.worker.start();
      expect(await session.lookAtPage()).toMatchObject({ title: 'Claims', url: `${session.portal.url}/claims` });
      const profile = await session.goTo('/profile');
      expect(profile.look.title).toBe('Profile [secret]');
      expect(JSON.stringify(profile)).not.toContain(session.portal.password);
      expect(await session.askSession('autopilot_close', {})).toEqual({ status: 'success', output: { remaining: 0 } });
    },
  );

  itOpens('an attempt whose worker is killed continues, is performed once, and its answer is delivered', async () => {
    await session.open('/login');
    await session.signIn();
    const release = isHeldUp();
    const attempt = await session.sendCommand('autopilot_attempt', {
      maySubmit: true,
      screenshot: false,
      actions: submission,
      expect: { text: 'Claim C-1003 was received' },
    });
    await waitFor('the submission', () => session.portal.submitted.length === 1);
    await session.worker.kill('SIGKILL');
    release();
    await session.worker.start();
    expect(await session.waitForResult(attempt)).toMatchObject({
      status: 'success',
      output: { outcome: 'passed', submitted: true },
    });
    expect(session.portal.submitted).toEqual([{ claim: 'C-1003', amount: '125.50', payer: '' }]);
  });

  itOpens(
    'an attempt reports an unknown submission if the browser died during it, and none if the browser died before',
    async () => {
      await session.open('/login');
      await session.signIn();
      const release = isHeldUp();
      const attempt = await session.sendCommand('autopilot_attempt', { maySubmit: true, actions: submission });
      await waitFor('the submission', () => session.portal.submitted.length === 1);
      killAll(session.listProcesses());
      expect(await session.waitForResult(attempt)).toMatchObject({
        status: 'failed',
        code: 'interrupted',
        output: { submit: 'unknown', at: 2 },
      });
      release();
      expect(await session.askSession('autopilot_look', {})).toMatchObject({ status: 'failed', code: 'browser_lost' });
      expect(readdirSync(join(session.worker.folder, 'sessions'))).toEqual([]);

      await session.open('/slow');
      session.portal.slowMs = 60_000;
      const slow = await session.sendCommand('autopilot_attempt', {
        maySubmit: true,
        actions: [buildAction('navigate', '', { value: '/slow?again' })],
      });
      await waitFor('the request', () => session.portal.requests.some(({ query }) => 'again' in query));
      // Kills the worker and the browser, as in a power cut.
      await session.worker.kill('SIGKILL');
      killAll(session.listProcesses());
      await session.worker.start();
      expect(await session.waitForResult(slow)).toMatchObject({
        code: 'interrupted',
        output: { submit: 'none', at: 0 },
      });
    },
  );

  itOpens(
    'a browser session leaves no browser behind if only the process that keeps the browser is killed',
    async () => {
      await session.open('/login');
      killAll(findProcesses(`MUSTER_RUN_ID=${session.sessionId}`, 'program.py'));
      await waitFor('the browser to end', () => session.listProcesses().length === 0);
      expect(await session.askSession('autopilot_look', {})).toMatchObject({ status: 'failed', code: 'browser_lost' });
    },
  );

  itOpens(
    'an attempt stops before a button, a key, a script or a marked action submits, and resumes there if allowed',
    async () => {
      await session.open('/login');
      // Sending a form with a password field does not count as a submission.
      await session.signIn();
      expect(session.portal.submitted).toEqual([]);
      for (const last of [
        buildAction('click', 'aria/Submit claim[role="button"]'),
        buildAction('press', 'aria/Amount', { value: 'Enter' }),
        buildAction('press', 'aria/Submit claim', { value: 'Space' }),
      ]) {
        const actions = [...submission.slice(0, 2), last];
        const before = session.portal.submitted.length;
        const stopped = await session.attemptStep({ actions, maySubmit: false, expect: { text: 'was received' } });
        expect(stopped).toMatchObject({ outcome: 'would_submit', at: 2, submitted: false, error: null });
        expect(stopped.steps.map(({ type }) => type)).toEqual(['navigate', 'change']);
        expect(session.portal.submitted.length).toBe(before);
        const done = await session.attemptStep({ actions, from: 2, maySubmit: true, expect: { text: 'was received' } });
        expect(done).toMatchObject({ outcome: 'passed', submitted: true, done: [{ at: 2 }] });
        expect(session.portal.submitted.length).toBe(before + 1);
      }
      const byScript = [
        buildAction('navigate', '', { value: '/by-script' }),
        buildAction('click', 'aria/Finish[role="link"]'),
      ];
      expect(await session.attemptStep({ actions: byScript, maySubmit: false })).toMatchObject({
        outcome: 'would_submit',
        at: 1,
      });
      expect(session.portal.submitted.length).toBe(3);
      const marked = [buildAction('click', 'aria/Finish[role="link"]', { submits: true })];
      expect(await session.attemptStep({ actions: marked, maySubmit: false })).toMatchObject({
        outcome: 'would_submit',
        at: 0,
      });
      expect(await session.attemptStep({ actions: marked, maySubmit: true })).toMatchObject({
        outcome: 'passed',
        submitted: true,
      });
      expect(session.portal.submitted.length).toBe(4);
    },
  );

  itOpens(
    'a browser session ends when its worker gets SIGTERM, when another session opens, and when a command is late',
    async () => {
      await session.open('/login');
      await session.worker.kill('SIGTERM');
      expect(session.listProcesses()).toEqual([]);
      await session.worker.start();
      const first = session.sessionId;
      await session.open('/login');
      session.sessionId = '0190a5b4-0000-7000-8000-0000000000bb';
      await session.open('/login');
      expect(findProcesses(`MUSTER_RUN_ID=${first}`)).toEqual([]);
      const late = await session.sendCommand(
        'autopilot_look',
        { expect: { text: 'never' } },
        {},
        { deadline: new Date(Date.now() + 1000).toISOString() },
      );
      expect(await session.waitForResult(late)).toMatchObject({ status: 'failed', code: 'execution_timeout' });
      await waitFor('its end', () => session.listProcesses().length === 0);
      const links = readdirSync(tmpdir()).filter((name) => /^muster-[0-9a-f]{12}$/.test(name));
      const dead = links
        .map((name) => readlinkSync(join(tmpdir(), name)))
        .filter((path) => path.startsWith(session.worker.folder));
      expect(dead.filter((path) => !existsSync(path))).toEqual([]);
    },
  );

  itOpens('a browser session continues during a run', async () => {
    await session.open('/login');
    const run = buildRunCommand('import os, time\nwhile not os.path.exists("go"): time.sleep(0.01)');
    await session.service.pushCommand(run);
    await session.service.waitUntil('the run', () => session.service.listWebhooks(run.jobId).length);
    await session.signIn();
    expect((await session.lookAtPage()).title).toBe('Claims');
    await session.service.pushCommand({
      ...run,
      commandId: crypto.randomUUID(),
      kind: 'stop_job',
      payload: { jobId: run.jobId, graceMs: 0 },
    });
    await session.service.waitUntil('its end', () => session.service.findTerminalReport(run.jobId));
    expect((await session.lookAtPage()).title).toBe('Claims');
  });

  it('a browser session cannot be opened on a machine without a browser', async () => {
    await session.worker.kill();
    await session.worker.start({ CHROMIUM: '/nowhere/chromium' });
    expect(await session.open('/login')).toMatchObject({ status: 'failed', code: 'browser_unavailable' });
    expect(await session.askSession('autopilot_look', {})).toMatchObject({ status: 'failed', code: 'browser_lost' });
  });
});
