// This test is long because it kills each process while a run waits for a one-time code.
// A short test of the same code: apps/standalone/src/codes.spec.ts
import { createHmac } from 'node:crypto';
import { newId } from '@muster/platform';
import { testPassword, waitFor } from '@muster/testing';
import type { BrowserContext, Page } from 'playwright-core';
import { findChromiumPath } from '../console/console-browser';
import { AskingStage, email, type Victim, victims } from './asking-stage';

jest.setTimeout(300_000);

const describeInBrowser = findChromiumPath() ? describe : describe.skip;
const ways = ['SMS gateway', 'person in the console', 'link in a mail'] as const;
type Way = (typeof ways)[number];

describeInBrowser('a portal asks for a password and then for a code', () => {
  let stage: AskingStage;
  let consoleTab: Page;
  let mailTab: Page;
  let inbound: { url: string; name: string };
  const contexts: BrowserContext[] = [];
  const workflows = new Map<Way, string>();

  beforeAll(async () => {
    stage = await AskingStage.open();
    const { admin, portal } = stage;
    const stored = await admin.put('/api/vault/PORTAL_PASSWORD', { value: portal.password });
    expect(stored.status).toBeLessThan(300);
    const gatewayKeys = { twilio: 'auth-token-of-the-gateway' };
    const pattern = 'code is ([A-Z0-9]{10})';
    const created = await admin.post('/api/inbound-codes', { name: 'payer-phone', pattern, gatewayKeys });
    expect(created.status).toBe(201);
    inbound = created.body;
    for (const way of ways) {
      const source = way === 'SMS gateway' ? { inbound: inbound.name } : {};
      const ask = { type: 'ask', question: `Code of the payer (${way})`, kind: 'code', as: 'code', ...source };
      const steps = [
        { type: 'goto', url: `${portal.url}/?run={{RUN}}` },
        { type: 'fill', field: 'Password', value: '{{PORTAL_PASSWORD}}' },
        { type: 'click', text: 'Sign in' },
        ask,
        { type: 'fill', field: 'Code', value: '{{code}}' },
        { type: 'click', text: 'Continue' },
        { type: 'extract', selector: '#outcome', as: 'outcome' },
      ].map((step, at) => ({ id: `s${at}`, ...step }));
      const workflow = await admin.post('/api/workflows', { name: way, variables: ['RUN'], steps });
      expect([workflow.status, workflow.body]).toEqual([201, expect.anything()]);
      workflows.set(way, workflow.body.id);
    }
    for (const options of [{}, { javaScriptEnabled: false, viewport: { width: 360, height: 740 } }]) {
      const context = await stage.browser.newContext(options);
      context.setDefaultTimeout(10_000);
      contexts.push(context);
    }
    [consoleTab, mailTab] = (await Promise.all(contexts.map((context) => context.newPage()))) as [Page, Page];
    await consoleTab.goto(`${stage.proxy.url}/app/inbox`);
    await consoleTab.getByLabel('Email').fill(email);
    await consoleTab.getByLabel('Password').fill(testPassword);
    await consoleTab.getByRole('button', { name: 'Sign in' }).click();
    await consoleTab.getByText('No open questions.').waitFor({ timeout: 40_000 });
  });
  afterAll(() => stage?.close());

  const readQuestion = async (jobId: string) => (await stage.read(`/api/questions?jobId=${jobId}`)).questions[0];
  const isOpen = async (jobId: string) => (await readQuestion(jobId))?.status === 'open';
  /** Repeats an attempt to answer until the question is answered, as people and gateways do. */
  const untilAnswered = (jobId: string, attempt: () => Promise<unknown>) =>
    waitFor(
      'the answer to be accepted',
      async () => {
        await attempt().catch(() => undefined);
        return !(await isOpen(jobId));
      },
      90_000,
    );

  const answerBySms = (jobId: string, code: string) => {
    const sms = { Body: `Your code is ${code}.`, From: '+15550100', MessageSid: `SM${jobId}` };
    const signed = Object.entries(sms).reduce((text, pair) => text + pair.join(''), inbound.url);
    const signature = createHmac('sha1', 'auth-token-of-the-gateway').update(signed).digest('base64');
    const headers = { 'x-twilio-signature': signature };
    return untilAnswered(jobId, () => fetch(inbound.url, { method: 'POST', body: new URLSearchParams(sms), headers }));
  };
  const answerInConsole = (jobId: string, code: string) =>
    untilAnswered(jobId, async () => {
      // An answered question stays in the list until the person leaves it.
      const card = consoleTab
        .getByRole('article', { name: 'Code of the payer (person in the console)' })
        .filter({ has: consoleTab.getByLabel('Code') });
      await card.getByLabel('Code').fill(code);
      await card.getByRole('button', { name: 'Answer' }).click();
      await card.waitFor({ state: 'detached', timeout: 5000 });
    });
  /** Returns the link in the mail to the only recipient of the channel, after a scanner has opened the link. */
  const receiveLink = async (to: string) => {
    const [mail] = await waitFor(
      'the mail',
      () => {
        const found = stage.mailbox.mails.filter((each) => each.to === to);
        return found.length > 0 && found;
      },
      60_000,
    );
    return new RegExp(`${stage.proxy.url}/a/[\\w-]+`).exec(mail!.raw)![0];
  };
  const answerByLink = (jobId: string, code: string, link: string) =>
    untilAnswered(jobId, async () => {
      for (const method of ['HEAD', 'GET']) await fetch(link, { method, headers: { 'sec-purpose': 'prefetch' } });
      await mailTab.goto(link);
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      expect(await mailTab.evaluate<number>(overflow)).toBe(0);
      await mailTab.getByLabel('Code').fill(code);
      await mailTab.getByRole('button', { name: 'Answer' }).click();
      await mailTab.getByText('The run continues.').waitFor();
    });

  const play = async (way: Way, victim?: Victim) => {
    const { admin, portal } = stage;
    const signIn = newId();
    const to = `${signIn}@practice.example`;
    if (way === 'link in a mail') {
      const channel = { name: signIn, kind: 'email', target: { to: [to] }, events: ['question.asked'] };
      expect((await admin.post('/api/notification-channels', channel)).status).toBe(201);
    }
    let killed: Promise<void> | undefined;
    // The sender of mails is killed before the question, because a person gets a message at most once.
    const killsEarly = victim === 'feedback-sync';
    portal.onPassword = () => (victim && killsEarly ? (killed ??= stage.kill(victim)) : undefined);
    const launched = await admin.post('/api/jobs/launch', {
      ...{ workflowId: workflows.get(way), agentId: stage.agentId, variables: { RUN: signIn } },
      vaultKeys: ['PORTAL_PASSWORD'],
    });
    expect([launched.status, launched.body]).toEqual([202, expect.anything()]);
    const { jobId } = launched.body as { jobId: string };
    await waitFor('the password to reach the portal', () => portal.received.has(signIn), 90_000);
    await waitFor('the question', () => isOpen(jobId), 60_000);
    const link = way === 'link in a mail' && !(victim && killsEarly) ? await receiveLink(to) : null;
    if (victim) await (killed ??= stage.kill(victim));
    const restarted = victim ? stage.restart(victim) : Promise.resolve();
    const code = portal.sent.get(signIn)!;
    if (way === 'SMS gateway') await answerBySms(jobId, code);
    if (way === 'person in the console') await answerInConsole(jobId, code);
    if (way === 'link in a mail') await answerByLink(jobId, code, link ?? (await receiveLink(to)));
    await restarted;
    const job = await waitFor(
      'the end of the run',
      async () => {
        const read = await stage.read(`/api/jobs/${jobId}`);
        return read.finishedAt !== null && read;
      },
      120_000,
    );
    expect(job).toMatchObject({ status: 'completed', error: null, result: { outcome: 'welcome' } });
    expect(portal.received.get(signIn)).toEqual([code]);
  };

  it.each(ways)('by %s, the run signs in, and the portal sees the code once', (way) => play(way));

  it.each(ways.flatMap((way) => victims.map((victim) => [way, victim] as const)))(
    'by %s, the run signs in although %s is killed while the run asks, and the portal sees the code once',
    (way, victim) => play(way, victim),
  );
});
