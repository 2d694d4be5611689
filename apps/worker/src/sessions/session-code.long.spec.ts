// This test is long because it drives a real browser.
// A short test of the same code: apps/standalone/src/autopilot/sessions.spec.ts
import { buildAction, chromium, noChromium, SessionHarness } from '../testing/session.harness';
import { writeStableCode } from '@muster/testing';

const itOpens = chromium ? it : it.skip;

describe(`Stable code in a session’s browser${noChromium}`, () => {
  let session: SessionHarness;
  beforeAll(async () => {
    session = await SessionHarness.start();
    if (chromium) await session.open('/login');
  });
  afterAll(async () => {
    await session.stop();
    expect(session.service.faults).toEqual([]);
  });
  const attemptCode = (code: string, more: object = {}) => session.attemptStep({ code, ...more });

  itOpens(
    'stable code repeats an attempt with another input and another design of the portal, without a model',
    async () => {
      await session.signIn();
      const learned = await session.performActions([
        buildAction('navigate', '', { value: '/claims' }),
        buildAction('click', 'xpath///tr[td="C-1003"]//a'),
        buildAction('extract', '[data-testid=amount]', { name: 'amount' }),
        buildAction('click', 'text/New submission'),
        buildAction('fill', '#amount', { value: '{{AMOUNT}}' }),
        buildAction('select', '#payer', { value: 'Cigna' }),
        buildAction('check', '#urgent'),
        buildAction('click', '#send'),
      ]);
      expect(learned).toMatchObject({ outcome: 'passed', submitted: true, extracted: { amount: '114.00' } });
      const code = writeStableCode(learned.steps);
      expect(code).toContain('{{CLAIM_ID}}');
      expect(code).not.toContain('C-1003');
      await session.askSession('autopilot_close', {});
      session.sessionId = '0190a5b4-0000-7000-8000-0000000000cc';
      session.portal.design = 'second';
      await session.open('/login', { inputs: { CLAIM_ID: 'C-1005', AMOUNT: '99.00' } });
      await session.signIn();
      const again = await attemptCode(code, { expect: { text: 'Claim C-1005 was received' } });
      expect([again.outcome, again.error, again.submitted]).toEqual(['passed', null, true]);
      expect(again.extracted).toEqual({ amount: '128.00' });
      expect(session.portal.submitted).toEqual([
        { claim: 'C-1003', amount: '125.50', payer: 'Cigna', urgent: 'on' },
        { claim: 'C-1005', amount: '99.00', payer: 'Cigna', urgent: 'on' },
      ]);
    },
  );

  itOpens('stable code stops before an action that would submit, and resumes there with its variables', async () => {
    const code = [
      'amount = "7.00"',
      'page.navigate("/submit?claim={{CLAIM_ID}}")',
      'page.change(["aria/Amount"], amount)',
      'page.click(["aria/Submit claim[role=\\"button\\"]"])',
      'muster.result({"sent": amount})',
    ].join('\n');
    const before = session.portal.submitted.length;
    const stopped = await attemptCode(code, { maySubmit: false });
    expect(stopped).toMatchObject({ outcome: 'would_submit', at: 3, submitted: false });
    expect(session.portal.submitted.length).toBe(before);
    const done = await attemptCode(code, { from: 3 });
    expect(done).toMatchObject({ outcome: 'passed', at: 5, submitted: true, extracted: { sent: '7.00' } });
    expect(session.portal.submitted.at(-1)).toMatchObject({ claim: 'C-1005', amount: '7.00' });
    expect(session.portal.submitted.length).toBe(before + 1);
  });

  itOpens.each([
    [
      'a missing element',
      'page.click(["aria/Nowhere"], timeout=0.2)',
      'code',
      'line 1: TimeoutError: no element matches aria/Nowhere',
    ],
    ['invalid Python', 'page.click(', 'code', 'the code cannot be read: line 1'],
    ['an exception and its line', 'page.navigate("/claims")\n1 / 0', 'code', 'line 2: ZeroDivisionError'],
    ['an unknown input', 'page.navigate("/claims?{{NOBODY}}")', 'name', 'NOBODY'],
    ['a foreign URL', 'page.navigate("http://127.0.0.1:1/")', 'address', '127.0.0.1:1'],
    ['a file URL', 'page.call("Page.navigate", {"url": "file:///etc/passwd"})', 'address', 'file:///etc/passwd'],
    ['a vault key in a URL', 'page.navigate("/claims?q={{PORTAL_PASSWORD}}")', 'address', 'PORTAL_PASSWORD'],
    ['a misspelled step', 'page.fil("#a", "1")', 'code', 'page has no fil; did you mean fill? It has goto, click'],
    ['a step of another library', 'page.locator("#a")', 'code', 'page has no locator; it has goto, click, fill'],
    ['a step without page', 'goto("/claims")', 'code', "name 'goto' is not defined; use page.goto"],
    ['a misspelled function', 'extrat(page, "#a", "a")', 'code', 'did you mean extract?'],
    ['an exit of the code itself', 'import sys\nsys.exit(1)', 'code', 'the code ended'],
  ])('a failed attempt of stable code reports %s', async (_, code, why, error) => {
    const failed = await attemptCode(code);
    expect([failed.outcome, failed.why]).toEqual(['failed', why]);
    expect(failed.error).toContain(error);
    expect((await session.lookAtPage()).url).toContain('127.0.0.1');
  });

  itOpens('stable code calls the steps of page by their names, with one or several selectors', async () => {
    const code = [
      'page.goto("/submit?claim={{CLAIM_ID}}")',
      'page.wait_for_element("aria/Amount")',
      'page.fill(["#nowhere", "aria/Amount"], "8.00")',
      'page.select("aria/Payer", "Cigna")',
      'page.check("aria/Urgent")',
      'page.press("Tab", "aria/Amount")',
      'page.hover("aria/Amount")',
      'page.wait(1)',
      'page.extract("aria/Amount", "amount")',
      'page.click(\'aria/Submit claim[role="button"]\')',
    ].join('\n');
    const done = await attemptCode(code, { expect: { text: 'was received' } });
    expect(done).toMatchObject({ outcome: 'passed', error: null, extracted: { amount: '8.00' } });
    expect(session.portal.submitted.at(-1)).toMatchObject({ amount: '8.00', payer: 'Cigna', urgent: 'on' });
  });

  itOpens('stable code can use a vault key only by its name, and cannot report the value of the key', async () => {
    const attempt = await attemptCode(
      'import os\nmuster.result({"env": dict(os.environ), "filled": 1})\npage.navigate("/profile")\nextract(page, ["aria/Note"], "note")',
    );
    expect(attempt.outcome).toBe('passed');
    expect(attempt.extracted['note']).toBe('[secret]');
    expect(JSON.stringify(attempt)).not.toContain(session.portal.password);
    expect(JSON.stringify(attempt.extracted['env'])).not.toMatch(/PORTAL_PASSWORD|SERVICE_API_KEY/);
  });

  itOpens('stable code that never ends is stopped in time, and its browser remains usable', async () => {
    const deadline = { deadline: new Date(Date.now() + 14_000).toISOString() };
    const payload = { maySubmit: true, screenshot: false, code: 'while True: browser.rest(1)' };
    const { output } = await session.waitForResult(
      await session.sendCommand('autopilot_attempt', payload, {}, deadline),
    );
    expect(output).toMatchObject({ outcome: 'failed', why: 'page', error: 'the attempt took too long' });
    expect((await session.goTo('/claims')).outcome).toBe('passed');
  });
});
