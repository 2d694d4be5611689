// This test is long because it runs learned scripts in a real browser.
// A short test of the same code: libs/workflows/src/recordings/read-recording.spec.ts
import { FakePortal } from '@muster/testing';
import { findChromium, runScript } from '../recordings/recorded-flow.harness';
import { type LearnedStep, writeLearnedScript, writeStableCode } from './write-stable-code';

const chromium = findChromium();
const itPlays = chromium ? it : it.skip;
const skipped = chromium ? '' : ' (skipped: no Chromium here; put one on PATH, or name it in CHROMIUM)';

describe(`The script of what a session has learned${skipped}`, () => {
  let portal: FakePortal;
  beforeAll(async () => {
    portal = await FakePortal.start();
  });
  afterAll(() => portal.close());

  const play = (steps: LearnedStep[], env: Record<string, string> = {}) =>
    runScript(writeLearnedScript({ name: 'Submit a claim', startUrl: `${portal.url}/login`, steps }), {
      CHROMIUM: chromium!,
      PORTAL_PASSWORD: portal.password,
      CLAIM_ID: 'C-1004',
      ...env,
    });
  const signIn: LearnedStep = {
    id: 's1',
    title: 'Sign in',
    code: writeStableCode([
      { type: 'change', selectors: ['aria/User name[role="textbox"]', '#user'], value: 'dana' },
      { type: 'change', selectors: ['aria/Password[role="textbox"]'], value: '{{PORTAL_PASSWORD}}' },
      { type: 'click', selectors: ['aria/Sign in[role="button"]'] },
    ]),
    expect: { url: '/claims', text: 'Page 1' },
  };
  const submit: LearnedStep = {
    id: 's2',
    title: 'Submit',
    code: writeStableCode([
      { type: 'extract', selectors: ['td:first-child'], as: 'claims', all: true },
      { type: 'navigate', url: '/submit?claim={{CLAIM_ID}}' },
      { type: 'select', selectors: ['aria/Payer'], value: 'Cigna' },
      { type: 'change', selectors: ['aria/Urgent'], value: 'true' },
      { type: 'click', selectors: ['aria/Submit claim[role="button"]'], submits: true },
    ]),
    expect: { text: 'Claim {{CLAIM_ID}} was received', notText: 'wrong', selector: 'output' },
  };
  const withPortalAddress = (step: LearnedStep): LearnedStep => ({
    ...step,
    code: step.code!.replace('page.navigate("/', `page.navigate("${portal.url}/`),
  });

  itPlays('a learned script runs without a session, with its steps, inputs, secrets and expectations', async () => {
    const { code, stderr, events, leftovers } = await play([signIn, withPortalAddress(submit)]);
    expect([stderr, code]).toEqual(['', 0]);
    expect(portal.submitted).toEqual([{ claim: 'C-1004', amount: '', payer: 'Cigna', urgent: 'on' }]);
    const begun = events.filter(({ type }) => type === 'step_started').map(({ stepId, name }) => [stepId, name]);
    expect(begun).toEqual([
      ['open', 'Open the start page'],
      ['s1', 'Sign in'],
      ['s2', 'Submit'],
    ]);
    expect(events.find(({ type }) => type === 'result')!['value'].of).toMatchObject({
      claims: ['C-1001', 'C-1002', 'C-1003', 'C-1004', 'C-1005'],
    });
    expect(leftovers).toEqual([]);
  });

  itPlays('a learned script fails at the step whose expectation does not hold, and reports it', async () => {
    const { code, stderr } = await play([{ ...signIn, expect: { notText: 'Page 1' } }, withPortalAddress(submit)]);
    expect(code).not.toBe(0);
    expect(stderr).toContain('the page shows “Page 1”');
    expect(portal.submitted.length).toBe(1);
  });

  itPlays('a learned script stops at a step that a person did, and reports that', async () => {
    const { code, stderr } = await play([{ id: 's1', title: 'The code', code: null }]);
    expect(code).not.toBe(0);
    expect(stderr).toContain('the step The code was done by a person in its session');
  });

  it('writeStableCode repeats each action in order, and selects another browser tab only if the tab changes', () => {
    expect(
      writeStableCode([
        { type: 'navigate', url: 'http://portal/{{ID}}' },
        { type: 'press', key: 'Enter', selectors: ['#q'], frame: [0], target: 'http://portal/tab' },
        { type: 'wait', ms: 500 },
      ]).split('\n'),
    ).toEqual([
      'page.navigate("http://portal/{{ID}}")',
      'page = browser.page("http://portal/tab")',
      // eslint-disable-next-line plain/words -- The name of a Python method.
      'with page.settled():',
      '    press(page, "Enter", selectors=["#q"], frame=[0])',
      'page = browser.page()',
      'browser.rest(0.5)',
    ]);
  });
});
