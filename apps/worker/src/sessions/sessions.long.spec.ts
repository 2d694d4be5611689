// This test is long because it drives a real browser.
// A short test of the same code: apps/standalone/src/autopilot/sessions.spec.ts
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../browser/find-browser';
import { buildAction, chromium, noChromium, SessionHarness } from '../testing/session.harness';

const itOpens = chromium ? it : it.skip;

describe(`The browser of a session${noChromium}`, () => {
  let session: SessionHarness;
  beforeAll(async () => {
    session = await SessionHarness.start();
  });
  afterAll(async () => {
    await session.stop();
    expect(session.service.faults).toEqual([]);
  });

  itOpens('a browser session shows its start page as a tree, with a screenshot', async () => {
    const opened = await session.open('/login');
    expect(opened).toMatchObject({ status: 'success', output: { reused: false, startError: null } });
    const { look } = opened.output;
    expect(look).toMatchObject({ url: `${session.portal.url}/login`, title: 'Sign in', treeCut: false });
    expect(look).toMatchObject({ hasPasswordField: true, asksFor: null });
    expect(look.tree.split('\n')).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^ *- heading "Sign in"/),
        expect.stringMatching(/^ *- textbox "User name"/),
        expect.stringMatching(/^ *- textbox "Password"/),
        expect.stringMatching(/^ *- button "Sign in"/),
      ]),
    );
    const picture = session.service.uploads.get(look.screenshotKey)!;
    expect(picture.subarray(0, 3).toString('hex')).toBe('ffd8ff');
    expect(await session.open('/claims')).toMatchObject({ output: { reused: true, look: { title: 'Sign in' } } });
  });

  itOpens('an attempt performs its actions, ranks the selectors of each element, and returns steps', async () => {
    await session.goTo('/login');
    const attempt = await session.performActions(
      [
        buildAction('fill', '#user', { value: 'dana', name: 'user' }),
        buildAction('fill', '#password', { value: '{{PORTAL_PASSWORD}}', name: 'password' }),
        buildAction('click', '#nothing', {
          name: 'go',
          selectors: [
            { kind: 'css', selector: '#nothing' },
            { kind: 'text', selector: 'text/Sign in' },
            { kind: 'css', selector: 'button' },
          ],
        }),
      ],
      { url: '/claims', text: 'Page 1', notText: 'Wrong', selector: 'aria/Next page[role="link"]' },
    );
    expect(attempt).toMatchObject({ outcome: 'passed', error: null, why: null, at: 3, submitted: false, blocked: [] });
    expect(attempt.look).toMatchObject({ title: 'Claims', hasPasswordField: false });
    expect(
      attempt.done.map(({ at, name, candidates }) => [at, name, candidates[0]!.kind, candidates[0]!.selector]),
    ).toEqual([
      [0, 'user', 'role', 'aria/User name[role="textbox"]'],
      [1, 'password', 'role', 'aria/Password[role="textbox"]'],
      [2, 'go', 'role', 'aria/Sign in[role="button"]'],
    ]);
    const [first] = attempt.done;
    expect(first!.candidates.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['role', 'label', 'css', 'xpath']),
    );
    const scores = first!.candidates.map(({ score }) => score);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    // A heading has the same text, so the text alone is not unique.
    expect(attempt.done[2]!.candidates.find(({ selector }) => selector === 'text/Sign in')?.uniqueNow ?? false).toBe(
      false,
    );
    expect(attempt.steps.map(({ type, value }) => [type, value])).toEqual([
      ['change', 'dana'],
      ['change', '{{PORTAL_PASSWORD}}'],
      ['click', undefined],
    ]);
    expect(session.portal.requests.filter(({ method }) => method === 'POST').map(({ form }) => form)).toEqual([
      { user: 'dana', password: session.portal.password },
    ]);
  });

  itOpens(
    'an attempt opens the table row of an input, and finds elements again in another design of the portal',
    async () => {
      await session.goTo('/claims');
      const opened = await session.performActions(
        [
          buildAction('click', 'xpath///tr[td="C-1003"]//a', { name: 'open' }),
          buildAction('extract', '[data-testid=amount]', { name: 'amount' }),
        ],
        { text: 'C-1003' },
      );
      expect(opened).toMatchObject({ outcome: 'passed', extracted: { amount: '114.00' } });
      const [{ candidates }] = opened.done as [(typeof opened.done)[0]];
      expect(candidates.every(({ selector }) => selector.includes('{{CLAIM_ID}}'))).toBe(true);
      session.portal.design = 'second';
      await session.goTo('/submit?claim=C-1003');
      // Selectors of the first design. The second design has other ids and classes, but the same visible texts.
      const learned = [
        { kind: 'role' as const, selector: 'aria/Amount[role="textbox"]' },
        { kind: 'css' as const, selector: '#amount' },
      ];
      const filled = await session.performActions([
        buildAction('fill', '', { name: 'amount', value: '{{AMOUNT}}', selectors: learned }),
        buildAction('select', 'aria/Payer', { value: 'Delta Dental' }),
        buildAction('check', 'aria/Urgent', { value: 'true' }),
      ]);
      expect(filled).toMatchObject({ outcome: 'passed', at: 3 });
      expect(filled.look.tree).toContain('value="125.50"');
      expect(filled.look.tree).toMatch(/checkbox "Urgent" \[.*checked/);
      session.portal.design = 'first';
    },
  );

  itOpens('an attempt reports unmet expectations, and selectors without a match', async () => {
    await session.goTo('/claims');
    expect(await session.lookAtPage({ expect: { url: '/claims', text: 'Page  1', notText: 'Page 2' } })).toMatchObject({
      holds: true,
    });
    expect(await session.lookAtPage({ expect: { url: '/claims', text: 'Page 2' } })).toMatchObject({
      holds: false,
      unmet: 'the page does not show “Page 2”',
    });
    expect(await session.performActions([], { notText: 'Page 1' })).toMatchObject({ outcome: 'failed', why: 'expect' });
    expect(await session.performActions([buildAction('click', 'aria/Nowhere')])).toMatchObject({
      outcome: 'failed',
      why: 'selector',
      at: 0,
    });
  });

  itOpens(
    'an attempt extracts one element or all elements, waits, and refuses actions with unknown names',
    async () => {
      await session.goTo('/claims');
      const read = await session.performActions([
        buildAction('wait', 'aria/Next page[role="link"]'),
        buildAction('extract', 'td:first-child', { name: 'claims', all: true }),
        buildAction('extract', 'aria/Next page[role="link"]', { name: 'next', value: 'href' }),
      ]);
      expect(read.extracted).toEqual({
        claims: ['C-1001', 'C-1002', 'C-1003', 'C-1004', 'C-1005'],
        next: '/claims?page=2',
      });
      const before = session.portal.requests.length;
      const wrong = await session.performActions([
        buildAction('click', 'aria/Next page'),
        buildAction('fill', 'input', { value: '{{SERVICE_API_KEY}}' }),
      ]);
      expect(wrong).toMatchObject({ outcome: 'failed', why: 'name', at: 0, done: [] });
      expect(session.portal.requests.length).toBe(before);
    },
  );

  itOpens('a browser session detects pages that ask for a one-time code or a captcha', async () => {
    await session.goTo('/captcha');
    expect((await session.lookAtPage()).asksFor).toBe('captcha');
    await session.goTo('/code');
    expect((await session.lookAtPage()).asksFor).toBe('one_time_code');
    await session.goTo('/claims');
    expect((await session.lookAtPage()).asksFor).toBe(null);
  });

  itOpens('an attempt waits for a slow page', async () => {
    expect(
      await session.performActions([buildAction('navigate', '', { value: '/slow' })], { text: 'At last' }),
    ).toMatchObject({
      outcome: 'passed',
    });
  });

  itOpens(
    'an attempt never shows a vault key’s value in the tree, title, URL, extracted text or screenshot',
    async () => {
      const attempt = await session.attemptStep({
        screenshot: true,
        actions: [
          buildAction('navigate', '', { value: '/profile' }),
          buildAction('extract', 'body', { name: 'all' }),
          buildAction('fill', 'aria/Note', { value: 'x {{PORTAL_PASSWORD}}' }),
          buildAction('click', 'button'),
        ],
      });
      const { password } = session.portal;
      expect(attempt).toMatchObject({ outcome: 'passed', look: { title: 'Profile [secret]' } });
      expect(attempt.look.url).toBe(`${session.portal.url}/profile?key=[secret]`);
      expect(attempt.look.tree).toContain('Keep [secret]');
      expect(attempt.extracted.all).toContain('Your password is [secret].');
      const halves = [password.slice(0, 8), password.slice(8)];
      for (const part of [password, encodeURIComponent(password), ...halves])
        expect(JSON.stringify(attempt)).not.toContain(part);
      const sent = session.service.requests.map(({ text }) => text).join('\n');
      for (const part of [password, ...halves]) expect(sent).not.toContain(part);
      expect(session.worker.readAllOutput()).not.toContain(password);
      expect(session.worker.stderr).not.toContain(password);
      const picture = session.service.uploads.get(attempt.look.screenshotKey!)!;
      if (!findProgram('ffmpeg', process.env)) return;
      // In the screenshot, the heading, the sentence and the two halves of the password are covered by one shade of
      // gray.
      const toGray = ['-v', 'error', '-i', '-', '-f', 'rawvideo', '-pix_fmt', 'gray', '-'];
      const pixels = execFileSync('ffmpeg', toGray, { input: picture, maxBuffer: 2 ** 24 });
      const shades = [40, 89, 123].flatMap((y) =>
        Array.from({ length: 120 }, (_, at) => pixels[y * 1280 + 20 + at * 10]!),
      );
      expect(shades.filter((shade) => Math.abs(shade - 0x33) > 8)).toEqual([]);
    },
  );

  itOpens('an attempt refuses a vault key’s value in a URL, in a selector and as a key press', async () => {
    await session.goTo('/claims');
    for (const [each, why] of [
      [buildAction('navigate', '', { value: '/claims?q={{PORTAL_PASSWORD}}' }), 'address'],
      [buildAction('click', 'text/{{PORTAL_PASSWORD}}'), 'address'],
      [buildAction('press', '', { value: '{{PORTAL_PASSWORD}}' }), 'address'],
    ] as const) {
      expect(await session.performActions([each])).toMatchObject({ outcome: 'failed', why });
    }
    expect(JSON.stringify(session.portal.requests)).not.toContain(
      encodeURIComponent(session.portal.password).slice(0, 9) + 'x',
    );
    expect(session.portal.requests.some(({ query }) => query['q'])).toBe(false);
  });

  itOpens.each([
    ['a link', buildAction('click', 'aria/By link')],
    ['a tab', buildAction('click', 'aria/By tab')],
    ['a redirect', buildAction('click', 'aria/By redirect')],
    ['a refresh', buildAction('click', 'aria/By refresh')],
    ['a script', buildAction('click', 'aria/By script')],
    ['a window', buildAction('click', 'aria/By window')],
    ['a timer', buildAction('click', 'aria/By timer')],
    ['a form', buildAction('click', 'aria/By form')],
    ['a frame', buildAction('click', 'aria/By frame')],
    ['a file URL', buildAction('navigate', '', { value: 'file:///etc/passwd' })],
    ['a data URL', buildAction('navigate', '', { value: 'data:text/html,<h1>data</h1>' })],
    ['a javascript URL', buildAction('navigate', '', { value: 'javascript:location="http://127.0.0.1:1/"' })],
    ['another URL', buildAction('navigate', '', { value: 'http://127.0.0.1:1/' })],
    ['a redirect to another URL', buildAction('navigate', '', { value: '/leave' })],
  ])('the browser of a session does not leave the task’s origins by %s', async (_, each) => {
    await session.goTo('/ways-out');
    const attempt = await session.performActions([each]);
    expect([attempt.outcome, attempt.why]).toEqual(['failed', 'address']);
    expect(attempt.blocked.length).toBeGreaterThan(0);
    expect(session.portal.visits).toEqual([]);
    expect(new URL((await session.lookAtPage()).url).origin).toBe(session.portal.url);
  });

  itOpens(
    'the browser of a session does not leave the task’s origins by links that the browser itself refuses',
    async () => {
      for (const link of ['aria/By file', 'aria/By data']) {
        await session.goTo('/ways-out');
        await session.performActions([buildAction('click', link)]);
        expect((await session.lookAtPage()).url).toBe(`${session.portal.url}/ways-out`);
      }
      expect(session.portal.visits).toEqual([]);
    },
  );

  itOpens('a closed browser session leaves nothing behind and cannot be opened again', async () => {
    expect(session.listProcesses().length).toBeGreaterThan(0);
    expect(await session.askSession('autopilot_close', {})).toEqual({ status: 'success', output: { remaining: 0 } });
    expect(session.listProcesses()).toEqual([]);
    expect(readdirSync(join(session.worker.folder, 'sessions'))).toEqual([]);
    expect(await session.askSession('autopilot_look', {})).toMatchObject({ status: 'failed', code: 'browser_lost' });
    expect(await session.open('/login')).toMatchObject({ status: 'failed', code: 'browser_lost' });
    expect(await session.askSession('autopilot_close', {})).toEqual({ status: 'success', output: { remaining: 0 } });
  });
});
