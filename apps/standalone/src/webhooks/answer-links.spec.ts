import { newId } from '@muster/platform';
import { Mailbox, makeJob, waitFor } from '@muster/testing';
import { WebhookFixture } from './webhook-fixture.harness';

jest.setTimeout(90_000);

const address = 'https://muster.example.com';

describe('the answer link of a question', () => {
  let fixture: WebhookFixture;
  let mailbox: Mailbox;

  beforeAll(async () => {
    mailbox = await Mailbox.start();
    const env = { SMTP_URL: mailbox.url, SMTP_FROM: 'Muster <muster@practice.example>' };
    fixture = await WebhookFixture.open({ ...env, PUBLIC_APP_URL: address, RATE_LIMIT_FAILED_LOGINS_PER_MINUTE: '20' });
  });
  afterAll(async () => {
    await fixture.close();
    await mailbox.stop();
  });

  const createMailChannel = async (to: string, tenant = fixture.tenant): Promise<string> => {
    const body = { name: 'Front desk', kind: 'email', target: { to: [to] }, events: ['question.asked'] };
    return (await tenant.as.admin.post('/api/notification-channels', body)).body.id;
  };
  const askQuestion = async (more: object = {}) => {
    const { organizationId } = fixture.tenant;
    const { id: jobId } = await makeJob(fixture.harness.db, {
      ...{ organizationId, status: 'running', startedAt: new Date(), commandId: newId() },
    });
    const body = { questionKey: 'one', question: 'Send <it>?', kind: 'confirm', timeoutSeconds: 600, ...more };
    const created = await fixture.tenant.worker.post(`/api/jobs/${jobId}/questions`, body);
    expect(created.status).toBe(201);
    return { jobId, id: created.body.questionId as string };
  };
  /** Asks a question and returns the link's token from the mail to the only recipient of a new channel. */
  const askByMail = async (more: object = {}) => {
    const to = `${newId()}@practice.example`;
    const channelId = await createMailChannel(to);
    const question = await askQuestion(more);
    const [mail] = await mailbox.waitForMails(to);
    const token = /https:\/\/muster\.example\.com\/a\/([\w-]+)/.exec(mail!.raw)?.[1];
    return { to, channelId, token: token!, mail: mail!, ...question };
  };
  const readLink = (token: string) => fixture.harness.http.post('/api/answer-links/read', { token });
  const answerLink = (token: string, value: unknown) =>
    fixture.harness.http.post('/api/answer-links/answer', { token, answer: value });
  const readQuestion = async (id: string) => (await fixture.admin.get(`/api/questions/${id}`)).body;

  it('an answer link shows the question and nothing else, and answers it once', async () => {
    const { token, id, to } = await askByMail({ context: { patient: 'P-1' } });
    const response = await readLink(token);
    expect([response.status, response.body]).toEqual([
      200,
      {
        ...{
          question: 'Send <it>?',
          kind: 'confirm',
          choices: null,
          fields: null,
          status: 'open',
          screenshotUrl: null,
        },
        ...{ askedAt: expect.any(String), expiresAt: expect.any(String) },
      },
    ]);
    expect(await readQuestion(id)).toMatchObject({ status: 'open' });
    expect((await answerLink(token, 'perhaps')).body).toMatchObject({ status: 400, code: 'invalid_payload' });
    const answers = await Promise.all([answerLink(token, true), answerLink(token, true)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(answers.find(({ status }) => status === 409)!.body.code).toBe('already_answered');
    expect(await readQuestion(id)).toMatchObject({
      ...{ status: 'answered', answer: true, answeredBy: { id: null, email: to }, answeredVia: 'link' },
    });
    expect((await readLink(token)).body.status).toBe('answered');
    const { entries } = (await fixture.admin.get(`/api/audit?action=question.answer`)).body;
    expect(entries[0]).toMatchObject({ target: { type: 'question', id }, changes: { kind: 'confirm', via: 'link' } });
  });

  it('an answer link is refused if its token was changed, or if the channel that sent it was deleted', async () => {
    const { token, channelId, id } = await askByMail();
    const other = await askByMail();
    const bytes = Buffer.from(token, 'base64url');
    const swapped = Buffer.concat([bytes.subarray(0, 18), Buffer.from(other.token, 'base64url').subarray(18)]);
    bytes[20]! ^= 1;
    const forged = [
      bytes.toString('base64url'),
      swapped.toString('base64url'),
      `${token}A`,
      `${token}=`,
      'x',
      token.slice(0, -4),
    ];
    for (const each of forged) {
      expect([each, (await readLink(each)).status, (await answerLink(each, true)).status]).toEqual([each, 404, 404]);
    }
    await fixture.admin.delete(`/api/notification-channels/${channelId}`);
    expect((await readLink(token)).status).toBe(404);
    expect((await readQuestion(id)).status).toBe('open');
  });

  it('an answer link cannot answer an expired question', async () => {
    const { token, id } = await askByMail({ timeoutSeconds: 600 });
    await fixture.querySql(`UPDATE question SET expires_at = now() - interval '1 second' WHERE id = $1`, id);
    expect((await answerLink(token, true)).body.code).toBe('question_over');
    expect(await readQuestion(id)).not.toMatchObject({ status: 'answered' });
  });

  it('an answer link is sent only to the people who are asked; other recipients get a link to the inbox page', async () => {
    const { mail, token } = await askByMail({ to: ['somebody.else@practice.example'] });
    expect(token).toBeUndefined();
    expect(mail.raw).toContain(`${address}/app/inbox`);
    const to = `${newId()}@practice.example`;
    await createMailChannel(to);
    const { id } = await askQuestion({ to: [to] });
    const [ownMail] = await mailbox.waitForMails(to);
    const own = /\/a\/([\w-]+)/.exec(ownMail!.raw)![1]!;
    expect((await answerLink(own, false)).status).toBe(200);
    expect(await readQuestion(id)).toMatchObject({ answer: false, answeredBy: { id: null, email: to } });
  });

  it.each(['slack', 'teams'])(
    'a question in %s has a link to the inbox page and no answer link, because anybody can read the room',
    async (kind) => {
      const path = `/services/${newId()}`;
      fixture.receiver.answers.set(path, (response) => response.writeHead(200).end('ok'));
      const url = fixture.receiver.url + path;
      const body = { name: `Room ${kind}`, kind, target: { url }, events: ['question.asked'] };
      expect((await fixture.admin.post('/api/notification-channels', body)).status).toBe(201);
      await askQuestion();
      const [received] = await fixture.receiver.waitForDeliveries(path);
      const message = JSON.stringify(received!.event);
      expect(message).toContain(`${address}/app/inbox`);
      expect(message).not.toContain(`${address}/a/`);
    },
  );

  it('an answer link accepts a code for the run, and never returns the code', async () => {
    const { token, id } = await askByMail({ kind: 'code', question: 'Code from the phone' });
    expect((await answerLink(token, '12')).status).toBe(400);
    const answered = await answerLink(token, '482913');
    expect([answered.status, JSON.stringify(answered.body)]).toEqual([200, expect.not.stringContaining('482913')]);
    expect(await readQuestion(id)).toMatchObject({ status: 'answered', answer: null });
  });

  it('unknown tokens of answer links have the rate limit of failed sign-ins', async () => {
    const statuses = new Set<number>();
    await waitFor('the rate limit', async () => {
      statuses.add((await readLink('nonsense')).status);
      return statuses.has(429);
    });
    expect([...statuses].sort()).toEqual([404, 429]);
  });
});
