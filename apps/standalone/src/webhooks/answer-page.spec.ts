import { newId } from '@muster/platform';
import { Mailbox, makeJob, waitFor } from '@muster/testing';
import { WebhookFixture } from './webhook-fixture.harness';

jest.setTimeout(90_000);

const hostile = `"><script>alert(1)</script><img src=x onerror='alert(2)'>&amp;`;

/** The tests send what a browser without scripts sends. */
describe('the page of an answer link', () => {
  let fixture: WebhookFixture;
  let mailbox: Mailbox;

  beforeAll(async () => {
    mailbox = await Mailbox.start();
    const env = { SMTP_URL: mailbox.url, SMTP_FROM: 'Muster <muster@practice.example>' };
    fixture = await WebhookFixture.open({ ...env, PUBLIC_APP_URL: 'https://muster.example.com' });
  });
  afterAll(async () => {
    await fixture.close();
    await mailbox.stop();
  });

  /** Asks a question and returns the path of the link in the mail to the only recipient of a new channel. */
  const askByMail = async (more: object = {}) => {
    const to = `${newId()}@practice.example`;
    const body = { name: newId(), kind: 'email', target: { to: [to] }, events: ['question.asked'] };
    expect((await fixture.admin.post('/api/notification-channels', body)).status).toBe(201);
    const { organizationId } = fixture.tenant;
    const { id: jobId } = await makeJob(fixture.harness.db, {
      ...{ organizationId, status: 'running', startedAt: new Date(), commandId: newId() },
    });
    const question = { questionKey: 'one', question: 'Send it?', kind: 'confirm', timeoutSeconds: 600, ...more };
    const created = await fixture.tenant.worker.post(`/api/jobs/${jobId}/questions`, question);
    expect(created.status).toBe(201);
    const [mail] = await mailbox.waitForMails(to);
    const path = /https:\/\/muster\.example\.com(\/a\/[\w-]+)/.exec(mail!.raw)![1]!;
    return { jobId, path, to, id: created.body.questionId as string };
  };
  const openPage = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(fixture.harness.url + path, { redirect: 'manual', ...init });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const submitForm = (path: string, fields: Record<string, string> | string) =>
    openPage(path, { method: 'POST', body: new URLSearchParams(fields) });
  const readQuestion = async (id: string) => (await fixture.admin.get(`/api/questions/${id}`)).body;

  it('an answer link opens a form without scripts, and opening it changes nothing, however it is opened', async () => {
    const { path, id, jobId, to } = await askByMail({ context: { patient: 'P-1' } });
    const before = await fixture.querySql('SELECT q::text AS row FROM question q WHERE id = $1', id);
    const page = await openPage(path);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.text).toMatch(/<form method="post"[^>]*>.*name="answer" value="true".*name="answer" value="false"/s);
    expect(page.text).not.toMatch(/<script|<a |javascript:|action=/);
    const policy = page.headers.get('content-security-policy')!.split('; ');
    expect(policy).toEqual(
      expect.arrayContaining(["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"]),
    );
    expect(policy.join()).not.toMatch(/script-src|unsafe/);
    expect(page.headers.get('cache-control')).toBe('no-store');
    // The page names nothing of the organization besides the question.
    const { organizationId } = fixture.tenant;
    const names = await fixture.querySql(
      `SELECT o.name FROM organization o WHERE o.id = $1
       UNION SELECT a.name FROM agent a WHERE a.organization_id = $1
       UNION SELECT w.name FROM workflow w WHERE w.organization_id = $1`,
      organizationId,
    );
    for (const text of [...names.map(({ name }) => name as string), organizationId, jobId, id, 'P-1', to])
      expect([text, page.text.includes(text)]).toEqual([text, false]);
    const openings: RequestInit[] = [
      { method: 'HEAD' },
      { headers: { purpose: 'prefetch', 'sec-purpose': 'prefetch;prerender' } },
      { headers: { 'user-agent': 'Mozilla/5.0 (compatible; BingPreview/1.0b)' } },
    ];
    for (const init of openings) expect((await openPage(path, init)).status).toBe(200);
    expect((await openPage(`${path}?answer=true`)).status).toBe(200);
    for (const method of ['PUT', 'PATCH', 'DELETE']) expect((await openPage(path, { method })).status).toBe(405);
    expect(await fixture.querySql('SELECT q::text AS row FROM question q WHERE id = $1', id)).toEqual(before);
  });

  it('a button on the page of an answer link answers the question once, and a used link shows no form', async () => {
    const { path, id } = await askByMail();
    for (const fields of ['', 'answer=perhaps', 'answer=true&other=1', 'answer=true&answer=false']) {
      const refused = await submitForm(path, fields);
      expect([fields, refused.status]).toEqual([fields, 400]);
      expect(refused.text).toMatch(/role="alert".*<form/s);
    }
    const json = await openPage(path, {
      method: 'POST',
      body: '{"answer":true}',
      headers: { 'content-type': 'application/json' },
    });
    expect(json.status).toBe(415);
    expect((await readQuestion(id)).status).toBe('open');
    const pages = await Promise.all([submitForm(path, { answer: 'true' }), submitForm(path, { answer: 'false' })]);
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(pages.find(({ status }) => status === 200)!.text).toContain('The run continues.');
    expect(pages.find(({ status }) => status === 409)!.text).toContain('Already answered');
    const { status, answeredVia } = await readQuestion(id);
    expect([status, answeredVia]).toEqual(['answered', 'link']);
    const used = await openPage(path);
    expect([used.status, used.text.includes('Already answered'), used.text.includes('<form')]).toEqual([
      410,
      true,
      false,
    ]);
    expect((await submitForm(path, { answer: 'false' })).status).toBe(409);
  });

  it('the page of an answer link has inputs for each kind of question, and the script gets the values that it expects', async () => {
    const code = await askByMail({ kind: 'code' });
    expect((await openPage(code.path)).text).toContain('autocomplete="one-time-code"');
    const wrongCode = await submitForm(code.path, { answer: '12!' });
    expect([wrongCode.status, wrongCode.text.includes('12!')]).toEqual([400, false]);
    expect((await submitForm(code.path, { answer: ' 482913 ' })).status).toBe(200);
    const worker = fixture.tenant.worker;
    expect((await worker.get(`/api/jobs/${code.jobId}/questions/${code.id}`)).body.answer).toBe('482913');

    const text = await askByMail({ kind: 'text' });
    expect((await submitForm(text.path, { answer: 'two\r\nlines' })).status).toBe(200);
    expect((await readQuestion(text.id)).answer).toBe('two\nlines');

    const choice = await askByMail({ kind: 'choice', choices: ['Gold\nplan', 'Silver'] });
    expect((await submitForm(choice.path, { answer: 'Bronze' })).status).toBe(400);
    expect((await submitForm(choice.path, { answer: 'Gold\r\nplan' })).status).toBe(200);
    expect((await readQuestion(choice.id)).answer).toBe('Gold\nplan');

    const fields = [
      { name: 'answer', label: 'Approved by' },
      { name: 'paid', type: 'number' },
      { name: 'urgent', type: 'boolean' },
      { name: 'sure', type: 'boolean' },
      { name: 'payer', type: 'choice', choices: ['Delta', 'Cigna'], required: false },
    ];
    const form = await askByMail({ kind: 'form', fields });
    const sent = { answer: 'Dr. Lee', paid: '12.5', urgent: 'true', payer: '' };
    const wrongFields: Record<string, string>[] = [
      { paid: 'much' },
      { paid: '' },
      { urgent: 'yes' },
      { payer: 'Aetna' },
      { extra: '1' },
    ];
    for (const wrong of wrongFields)
      expect([wrong, (await submitForm(form.path, { ...sent, ...wrong })).status]).toEqual([wrong, 400]);
    expect((await submitForm(form.path, sent)).status).toBe(200);
    expect((await readQuestion(form.id)).answer).toEqual({ answer: 'Dr. Lee', paid: 12.5, urgent: true, sure: false });
  });

  it('the page of an answer link shows hostile texts of a question as plain text', async () => {
    const fields = [
      { name: hostile.slice(0, 90), label: hostile },
      { name: 'two', label: hostile, type: 'choice', choices: [hostile] },
    ];
    const form = await askByMail({ question: hostile, kind: 'form', fields });
    const choice = await askByMail({ question: hostile, kind: 'choice', choices: [hostile] });
    for (const { path } of [form, choice]) {
      const { text } = await openPage(path);
      expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
      expect(text).not.toMatch(/<script|<img|onerror='/);
    }
    expect((await submitForm(form.path, { [hostile.slice(0, 90)]: hostile, two: hostile })).status).toBe(200);
    expect((await submitForm(choice.path, { answer: hostile })).status).toBe(200);
    expect((await readQuestion(choice.id)).answer).toBe(hostile);
    expect((await openPage(choice.path)).text).not.toMatch(/<script|<img/);
  });

  it('an answer link opens a page without a form if its question is expired or cancelled, or if the link is forged', async () => {
    const expired = await askByMail();
    await fixture.querySql(
      `UPDATE question SET expires_at = muster_now() - interval '1 second' WHERE id = $1`,
      expired.id,
    );
    const cancelled = await askByMail();
    await fixture.tenant.api.post(`/api/jobs/${cancelled.jobId}/cancel`, {});
    const other = await askByMail();
    const decodeLinkBytes = (path: string) => Buffer.from(path.slice('/a/'.length), 'base64url');
    const swapped = Buffer.concat([
      decodeLinkBytes(cancelled.path).subarray(0, 18),
      decodeLinkBytes(other.path).subarray(18),
    ]);
    const cases: [string, number, number, string][] = [
      [expired.path, 410, 409, 'The question has expired'],
      [cancelled.path, 410, 409, 'The question is closed'],
      [`/a/${swapped.toString('base64url')}`, 404, 404, 'This link is not valid'],
      ['/a/nonsense', 404, 404, 'This link is not valid'],
    ];
    for (const [path, whenOpened, whenPressed, title] of cases) {
      const opened = await openPage(path);
      const pressed = await submitForm(path, { answer: 'true' });
      expect([path, opened.status, pressed.status]).toEqual([path, whenOpened, whenPressed]);
      for (const { text } of [opened, pressed]) {
        expect(text).toContain(title);
        expect(text).not.toContain('<form');
      }
      expect((await openPage(path, { method: 'HEAD' })).status).toBe(whenOpened);
    }
    expect((await readQuestion(other.id)).status).toBe('open');
    expect(['expired', 'open']).toContain((await readQuestion(expired.id)).status);
    expect(fixture.harness.logs.join('')).not.toContain(expired.path.slice('/a/'.length));
  });

  it('requests for answer pages with wrong tokens have the rate limit of failed sign-ins', async () => {
    const pages: Awaited<ReturnType<typeof openPage>>[] = [];
    await waitFor('the rate limit', async () => {
      pages.push(await openPage('/a/nonsense'));
      return pages.at(-1)!.status === 429;
    });
    expect([...new Set(pages.map(({ status }) => status))]).toEqual([404, 429]);
    expect(pages.at(-1)!.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(pages.at(-1)!.headers.get('content-type')).toContain('text/html');
  });
});
