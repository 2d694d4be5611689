import { createHmac } from 'node:crypto';
import { newId } from '@muster/platform';
import { testPassword, waitFor } from '@muster/testing';
import type { Page } from 'playwright-core';
import { AskingStage, email, type Victim } from './asking-stage';
import { buildSignInTask, scriptSignIn } from './portal-session';

export type Way = 'TOTP' | 'SMS gateway' | 'person in the console' | 'link in a mail';

/** Runs that sign in to the portal of a stage, each with a code that arrives in one of these ways. */
export interface SignIns {
  stage: AskingStage;
  /** Runs the workflow of this way. With a victim, the process is killed while the run waits for the code. */
  play(way: Way, victim?: Victim): Promise<void>;
  /** Runs an autopilot session, and then the workflow that it has learned. A person answers both in the inbox. */
  playAutopilot(): Promise<void>;
}

export async function openSignIns(ways: readonly Way[]): Promise<SignIns> {
  const stage = await AskingStage.open();
  try {
    return await prepareSignIns(stage, ways);
  } catch (error) {
    await stage.close();
    throw error;
  }
}

async function prepareSignIns(stage: AskingStage, ways: readonly Way[]): Promise<SignIns> {
  const workflows = new Map<Way, string>();
  const { admin, portal } = stage;
  for (const [key, body] of [
    ['PORTAL_PASSWORD', { value: portal.password }],
    ['PORTAL_TOTP', { kind: 'totp', value: portal.otpauthUrl }],
  ] as const)
    expect((await admin.put(`/api/vault/${key}`, body)).status).toBeLessThan(300);
  const gatewayKeys = { twilio: 'auth-token-of-the-gateway' };
  const pattern = 'code is ([A-Z0-9]{10})';
  const created = await admin.post('/api/inbound-codes', { name: 'payer-phone', pattern, gatewayKeys });
  expect(created.status).toBe(201);
  const inbound = created.body as { url: string; name: string };
  for (const way of ways) {
    const source = way === 'SMS gateway' ? { inbound: inbound.name } : {};
    const ask = { type: 'ask', question: `Code of the payer (${way})`, kind: 'code', as: 'code', ...source };
    const steps = [
      { type: 'goto', url: `${portal.url}/?run={{RUN}}` },
      { type: 'fill', field: 'Password', value: '{{PORTAL_PASSWORD}}' },
      { type: 'click', text: 'Sign in' },
      ...(way === 'TOTP' ? [] : [ask]),
      { type: 'fill', field: 'Code', value: way === 'TOTP' ? '{{totp:PORTAL_TOTP}}' : '{{code}}' },
      { type: 'click', text: 'Continue' },
      { type: 'extract', selector: '#outcome', as: 'outcome' },
    ].map((step, at) => ({ id: `s${at}`, ...step }));
    const workflow = await admin.post('/api/workflows', { name: way, variables: ['RUN'], steps });
    expect([workflow.status, workflow.body]).toEqual([201, expect.anything()]);
    workflows.set(way, workflow.body.id);
  }
  const pages: Page[] = [];
  for (const options of [{}, { javaScriptEnabled: false, viewport: { width: 360, height: 740 } }]) {
    const context = await stage.browser.newContext(options);
    context.setDefaultTimeout(10_000);
    pages.push(await context.newPage());
  }
  const [consoleTab, mailTab] = pages as [Page, Page];
  await consoleTab.goto(`${stage.proxy.url}/app/inbox`);
  await consoleTab.getByLabel('Email').fill(email);
  await consoleTab.getByLabel('Password').fill(testPassword);
  await consoleTab.getByRole('button', { name: 'Sign in' }).click();
  await consoleTab.getByText('No open questions.').waitFor({ timeout: 40_000 });

  const readQuestion = async (jobId: string) =>
    (await stage.readResource(`/api/questions?jobId=${jobId}`)).questions[0];
  const isQuestionOpen = async (jobId: string) => (await readQuestion(jobId))?.status === 'open';
  /** Repeats an attempt to answer until the question is answered, as people and gateways do. */
  const waitUntilAnswered = (jobId: string, attempt: () => Promise<unknown>) =>
    waitFor(
      'the answer to be accepted',
      async () => {
        await attempt().catch(() => undefined);
        return !(await isQuestionOpen(jobId));
      },
      90_000,
    );

  const readEndedJob = (jobId: string) =>
    waitFor(
      'the end of the run',
      async () => {
        const read = await stage.readResource(`/api/jobs/${jobId}`);
        return read.finishedAt !== null && read;
      },
      120_000,
    );

  const answerBySms = (jobId: string, code: string) => {
    const sms = { Body: `Your code is ${code}.`, From: '+15550100', MessageSid: `SM${jobId}` };
    const signed = Object.entries(sms).reduce((text, pair) => text + pair.join(''), inbound.url);
    const signature = createHmac('sha1', 'auth-token-of-the-gateway').update(signed).digest('base64');
    const headers = { 'x-twilio-signature': signature };
    return waitUntilAnswered(jobId, () =>
      fetch(inbound.url, { method: 'POST', body: new URLSearchParams(sms), headers }),
    );
  };
  const answerInConsole = (jobId: string, code: string, name = 'Code of the payer (person in the console)') =>
    waitUntilAnswered(jobId, async () => {
      // An answered question stays in the list until the person leaves it.
      const card = consoleTab.getByRole('article', { name }).filter({ has: consoleTab.getByLabel('Code') });
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
    waitUntilAnswered(jobId, async () => {
      for (const method of ['HEAD', 'GET']) await fetch(link, { method, headers: { 'sec-purpose': 'prefetch' } });
      await mailTab.goto(link);
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      expect(await mailTab.evaluate<number>(overflow)).toBe(0);
      await mailTab.getByLabel('Code').fill(code);
      await mailTab.getByRole('button', { name: 'Answer' }).click();
      await mailTab.getByText('The run continues.').waitFor();
    });

  const playSignIn = async (way: Way, victim?: Victim): Promise<void> => {
    const { admin, portal } = stage;
    const signIn = newId();
    const to = `${signIn}@practice.example`;
    if (way === 'link in a mail') {
      const channel = { name: signIn, kind: 'email', target: { to: [to] }, events: ['question.asked'] };
      expect((await admin.post('/api/notification-channels', channel)).status).toBe(201);
    }
    let killed: Promise<void> | undefined;
    // The sender of mails is killed before the question, because a person gets a message at most once.
    const killsEarly = way === 'TOTP' || victim === 'feedback-sync';
    portal.onPassword = () => (victim && killsEarly ? (killed ??= stage.kill(victim)) : undefined);
    const launched = await admin.post('/api/jobs/launch', {
      ...{ workflowId: workflows.get(way), agentId: stage.agentId, variables: { RUN: signIn } },
      vaultKeys: ['PORTAL_PASSWORD', ...(way === 'TOTP' ? ['PORTAL_TOTP'] : [])],
    });
    expect([launched.status, launched.body]).toEqual([202, expect.anything()]);
    const { jobId } = launched.body as { jobId: string };
    await waitFor('the password to reach the portal', () => portal.received.has(signIn), 90_000);
    if (way !== 'TOTP') await waitFor('the question', () => isQuestionOpen(jobId), 60_000);
    const link = way === 'link in a mail' && !(victim && killsEarly) ? await receiveLink(to) : null;
    if (victim) await (killed ??= stage.kill(victim));
    const restarted = victim ? stage.restart(victim) : Promise.resolve();
    const code = portal.sent.get(signIn)!;
    if (way === 'SMS gateway') await answerBySms(jobId, code);
    if (way === 'person in the console') await answerInConsole(jobId, code);
    if (way === 'link in a mail') await answerByLink(jobId, code, link ?? (await receiveLink(to)));
    await restarted;
    expect(await readEndedJob(jobId)).toMatchObject({
      status: 'completed',
      error: null,
      result: { outcome: 'welcome' },
    });
    const codes = portal.received.get(signIn)!;
    expect(codes).toEqual([way === 'TOTP' ? expect.stringMatching(/^\d{8}$/) : code]);
  };

  const playAutopilotSignIn = async (): Promise<void> => {
    const { model, agentId } = stage;
    const signIn = newId();
    scriptSignIn(model);
    const task = buildSignInTask(`${portal.url}/?run={{RUN}}`);
    const vaultKeys = ['PORTAL_PASSWORD'];
    const body = { action: 'start', task, inputs: { RUN: signIn }, vaultKeys };
    const started = await admin.post(`/api/agents/${agentId}/autopilot`, body);
    expect([started.status, started.body]).toEqual([202, expect.anything()]);
    const { sessionId } = started.body as { sessionId: string };
    const path = `/api/agents/${agentId}/autopilot?sessionId=${sessionId}`;
    const readSession = (...statuses: string[]) =>
      waitFor(
        `a session that is ${statuses.join(' or ')}`,
        async () => {
          const session = await stage.readResource(path);
          return statuses.includes(session.status) && session;
        },
        90_000,
      );
    const paused = await readSession('paused', 'completed', 'failed');
    expect(paused).toMatchObject({ status: 'paused', pausedFor: { reason: 'one_time_code' } });
    const card = consoleTab.getByRole('article', { name: 'The page asks for a one-time code' });
    await card.getByLabel('Code').fill(portal.sent.get(signIn)!);
    await card.getByRole('button', { name: 'Answer' }).click();
    await card.getByText('The session continues.').waitFor();
    const session = await readSession('completed', 'failed', 'cancelled');
    expect(session).toMatchObject({ status: 'completed', error: null });
    expect(portal.received.get(signIn)).toEqual([portal.sent.get(signIn)]);
    // The learned workflow signs in once more, and asks for the code of this sign-in.
    const later = newId();
    const launched = await admin.post('/api/jobs/launch', {
      ...{ workflowId: session.workflowId, agentId, variables: { RUN: later }, vaultKeys },
    });
    expect([launched.status, launched.body]).toEqual([202, expect.anything()]);
    const { jobId } = launched.body as { jobId: string };
    await waitFor('the question of the learned workflow', () => isQuestionOpen(jobId), 90_000);
    await answerInConsole(jobId, portal.sent.get(later)!, 'The page asks for a one-time code');
    expect(await readEndedJob(jobId)).toMatchObject({ status: 'completed', error: null });
    expect(portal.received.get(later)).toEqual([portal.sent.get(later)]);
  };

  return { stage, play: playSignIn, playAutopilot: playAutopilotSignIn };
}
