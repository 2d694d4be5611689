import { newId } from '@muster/platform';
import { Mailbox, waitFor } from '@muster/testing';
import { verifySignature } from './receiver.harness';
import { WebhookFixture } from './webhook-fixture.harness';

jest.setTimeout(90_000);

const base = '/api/notification-channels';

describe('notification channels', () => {
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
  afterEach(async () => {
    mailbox.refuseRecipient = () => null;
    mailbox.onMessage = () => null;
    for (const { id } of (await fixture.admin.get(base)).body.notificationChannels)
      await fixture.admin.delete(`${base}/${id}`);
  });

  /**
   * Makes all times of the channel's deliveries earlier. It locks the channel, because a process that takes a message
   * reads when the last one was sent, and then postpones the other messages by that time.
   */
  const makeTimesEarlier = (id: string, ms: number) =>
    fixture.querySql(
      `WITH channel AS (SELECT id FROM webhook_endpoint WHERE id = $1 FOR UPDATE)
       UPDATE webhook_delivery d SET due_at = d.due_at - $2 * interval '1 millisecond',
         sent_at = d.sent_at - $2 * interval '1 millisecond' FROM channel WHERE d.endpoint_id = channel.id`,
      ...[id, ms],
    );
  const createChannel = async (body: object): Promise<any> => {
    const answer = await fixture.admin.post(base, { name: 'Front desk', events: ['job.failed'], ...body });
    expect([answer.status, answer.body]).toEqual([201, expect.anything()]);
    return answer.body;
  };
  const createMailChannel = (address: string, more: object = {}) =>
    createChannel({ kind: 'email', target: { to: [address] }, ...more });
  const generateMailAddress = () => `${newId()}@practice.example`;
  const readDeliveryRows = (id: string) =>
    fixture.querySql('SELECT status, tries, recipient FROM webhook_delivery WHERE endpoint_id = $1 ORDER BY id', id);
  const waitForDeliveries = (id: string, status: string, count = 1) =>
    waitFor(`${count} ${status}`, async () => {
      const found = await readDeliveryRows(id);
      return found.filter((row) => row.status === status).length >= count && found;
    });

  it('a notification channel sends each recipient one e-mail about a failed run, with its error and a link', async () => {
    const [one, two] = [generateMailAddress(), generateMailAddress()];
    const { id } = await createChannel({ kind: 'email', target: { to: [one.toUpperCase(), two] } });
    const jobId = await fixture.runJob('failed', {}, { error: 'the portal <b>refused</b>' });
    const [mail] = await mailbox.waitForMails(one);
    await mailbox.waitForMails(two);
    expect(mail!.raw).toContain('From: Muster <muster@practice.example>');
    expect(mail!.raw).toMatch(/Subject: Run failed: /);
    expect(mail!.raw).toContain('the portal <b>refused</b>');
    expect(mail!.raw).toContain('the portal &lt;b&gt;refused&lt;/b&gt;');
    expect(mail!.raw).toContain(`https://muster.example.com/app/runs/${jobId}`);
    await waitForDeliveries(id, 'delivered', 2);
    const { body } = await fixture.admin.get(`${base}/${id}`);
    expect(body).toMatchObject({
      lastAttempt: { status: 'delivered', statusCode: 250, error: null },
      target: { to: [one, two] },
    });
    expect(mailbox.mails.filter(({ to }) => [one, two].includes(to))).toHaveLength(2);
  });

  it('a notification channel combines the notifications of a minute in one message with their count', async () => {
    const to = generateMailAddress();
    const { id } = await createMailChannel(to);
    for (let n = 0; n < 4; n += 1) await fixture.runJob('failed', {}, { error: `fault ${n}` });
    await mailbox.waitForMails(to);
    // The time of the first message is stored a moment after the mailbox has received it. The other notifications wait
    // for a minute from that time.
    await waitFor('the others to wait', async () => {
      const rows = await readDeliveryRows(id);
      return rows.length === 4 && rows.some(({ status }) => status === 'delivered');
    });
    await makeTimesEarlier(id, 61_000);
    await waitForDeliveries(id, 'delivered', 4);
    const mails = mailbox.mails.filter((mail) => mail.to === to);
    expect(mails.length).toBe(2);
    expect(mails[1]!.raw).toContain('Subject: 3 notifications: Run failed (3)');
    for (const n of [1, 2, 3]) expect(mails[1]!.raw).toContain(`fault ${n}`);
  });

  it('a notification channel repeats a message after a temporary refusal by the mail relay, not a permanent one', async () => {
    const [later, never] = [generateMailAddress(), generateMailAddress()];
    let refusals = 1;
    mailbox.onMessage = (to) => (to === later && refusals-- > 0 ? 451 : null);
    mailbox.refuseRecipient = (to) => (to === never ? 550 : null);
    const { id } = await createChannel({ kind: 'email', target: { to: [later, never] } });
    await fixture.runJob('failed');
    await waitForDeliveries(id, 'dead');
    await waitFor('the refusal', async () =>
      (await readDeliveryRows(id)).some(({ recipient, tries }) => recipient === later && tries === 1),
    );
    expect(mailbox.mails.filter(({ to }) => to === later)).toEqual([]);
    await makeTimesEarlier(id, 10_000);
    const rows = await waitForDeliveries(id, 'delivered');
    expect(rows).toEqual(
      expect.arrayContaining([
        { recipient: later, status: 'delivered', tries: 2 },
        { recipient: never, status: 'dead', tries: 1 },
      ]),
    );
    expect(await mailbox.waitForMails(later)).toHaveLength(1);
  });

  it('a notification channel reports a message that may have arrived as unclear instead of repeating it', async () => {
    const to = generateMailAddress();
    mailbox.onMessage = (each) => (each === to ? 'break' : null);
    const { id } = await createMailChannel(to);
    await fixture.runJob('failed');
    await waitForDeliveries(id, 'unclear');
    expect((await fixture.admin.get(`${base}/${id}`)).body.lastAttempt).toMatchObject({
      status: 'unclear',
      statusCode: null,
    });
    // Inserts a delivery whose process died while it sent the message.
    const [{ eventId }] = await fixture.querySql('SELECT event_id FROM webhook_delivery WHERE endpoint_id = $1', id);
    await fixture.querySql(
      `INSERT INTO webhook_delivery (id, organization_id, endpoint_id, event_id, type, status, due_at, recipient, sent_at,
         lease_id, leased_until)
       VALUES (gen_random_uuid(), $1, $2, $3, 'job.failed', 'sending', $4, 'dead@practice.example', $4, gen_random_uuid(), $4)`,
      ...[fixture.tenant.organizationId, id, eventId, new Date(Date.now() - 1000)],
    );
    const rows = await waitForDeliveries(id, 'unclear', 2);
    expect(rows.map(({ status }) => status)).toEqual(['unclear', 'unclear']);
    expect((await fixture.admin.get(`${base}/${id}`)).body.lastAttempt.error).toMatch(/was lost|unknown/);
    expect(mailbox.mails.filter((mail) => [to, 'dead@practice.example'].includes(mail.to))).toHaveLength(1);
  });

  it.each(['slack', 'teams'])(
    'a notification channel posts to %s in the format of that service, and never returns its address',
    async (kind) => {
      const path = `/services/${newId()}`;
      fixture.receiver.answers.set(path, (response) => response.writeHead(200).end('ok'));
      const { id, secret } = await createChannel({
        kind,
        target: { url: fixture.receiver.url + path },
        events: ['job.failed'],
      });
      expect(secret).toBeNull();
      await fixture.runJob('failed', {}, { error: 'a & b <c>' });
      const [received] = await fixture.receiver.waitForDeliveries(path);
      const event = received!.event as any;
      if (kind === 'slack') {
        expect(event.text).toMatch(/^Run failed: /);
        expect(event.blocks[0].text.text).toContain('a &amp; b &lt;c&gt;');
        expect(event.blocks[0].text.text).toContain('<https://muster.example.com/app/runs/');
      } else {
        const card = event.attachments[0];
        expect(card.contentType).toBe('application/vnd.microsoft.card.adaptive');
        expect(card.content.body.map(({ text }: { text: string }) => text)).toContain(String.raw`a & b \<c\>`);
      }
      const read = await fixture.admin.get(`${base}/${id}`);
      expect(read.body.target).toEqual({ host: new URL(fixture.receiver.url).host });
      const changedPath = `/services/${newId()}`;
      const target = { url: fixture.receiver.url + changedPath };
      expect((await fixture.admin.patch(`${base}/${id}`, { target: { to: ['a@b.example'] } })).status).toBe(400);
      expect((await fixture.admin.patch(`${base}/${id}`, { target })).status).toBe(200);
      expect((await fixture.admin.post(`${base}/${id}/test`, {})).body).toEqual({ messages: 1 });
      await fixture.receiver.waitForDeliveries(changedPath);
      // The channel's address appears in no answer, no row and no log line.
      const secrets = [path, changedPath];
      const responses = [read.body, (await fixture.admin.get(base)).body, (await fixture.admin.get('/api/audit')).body];
      const tables = await fixture.querySql(
        `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`,
      );
      for (const each of secrets) {
        expect(JSON.stringify(responses)).not.toContain(each);
        expect(fixture.harness.logs.join('')).not.toContain(each);
        for (const { tableName } of tables) {
          const [{ found }] = await fixture.querySql(
            `SELECT count(*)::int AS found FROM "${tableName}" t WHERE t::text LIKE $1`,
            `%${each}%`,
          );
          expect([tableName, found]).toEqual([tableName, 0]);
        }
      }
    },
  );

  it('a notification channel signs a webhook like a webhook endpoint does, with a secret that is shown once', async () => {
    const path = fixture.generatePath();
    const { id, secret, target } = await createChannel({
      kind: 'webhook',
      target: { url: fixture.receiver.url + path },
    });
    await fixture.runJob('failed');
    const [received] = await fixture.receiver.waitForDeliveries(path);
    expect(verifySignature(secret, received!)).toMatchObject({ type: 'job.failed' });
    expect(target).toEqual({ url: fixture.receiver.url + path });
    // The routes of endpoints do not find a channel.
    const deliveryId = received!.headers['webhook-id'];
    for (const route of ['', '/deliveries', `/deliveries/${deliveryId}`]) {
      expect((await fixture.admin.get(`/api/webhook-endpoints/${id}${route}`)).status).toBe(404);
    }
    expect(
      (await fixture.admin.post(`/api/webhook-endpoints/${id}/deliveries/${deliveryId}/redeliver`, {})).status,
    ).toBe(404);
    const endpoint = await fixture.createEndpoint(fixture.generatePath(), ['pack.promoted']);
    expect((await fixture.admin.get(`${base}/${endpoint.id}`)).status).toBe(404);
  });

  it('a notification channel sends only the events that match its filter', async () => {
    const [workflows, others, labels, severe] = [
      generateMailAddress(),
      generateMailAddress(),
      generateMailAddress(),
      generateMailAddress(),
    ];
    const { workflowId, agentId } = fixture.ids;
    const anything = { events: ['job.completed', 'job.failed'] };
    await createMailChannel(workflows, { ...anything, filter: { workflowIds: [workflowId] } });
    await createMailChannel(others, { ...anything, filter: { workflowIds: [newId()] } });
    await createMailChannel(labels, { ...anything, filter: { labels: ['front-desk'], severity: 'error' } });
    await createMailChannel(severe, { ...anything, filter: { severity: 'error' } });
    await fixture.runJob('completed');
    await mailbox.waitForMails(workflows);
    await fixture.querySql(`UPDATE agent SET labels = '{front-desk}' WHERE id = $1`, agentId);
    await fixture.runJob('failed');
    await Promise.all([mailbox.waitForMails(labels), mailbox.waitForMails(severe)]);
    expect(mailbox.mails.filter(({ to }) => to === others)).toEqual([]);
    expect(mailbox.mails.filter(({ to }) => [labels, severe].includes(to))).toHaveLength(2);
  });

  it('a notification channel sends a test message even while the channel is off, and reports the result', async () => {
    const to = generateMailAddress();
    const { id } = await createMailChannel(to, { enabled: false });
    await fixture.runJob('failed');
    expect((await fixture.admin.post(`${base}/${id}/test`, {})).status).toBe(202);
    expect((await mailbox.waitForMails(to))[0]!.raw).toContain(
      'This is a test of the notification channel Front desk.',
    );
    mailbox.refuseRecipient = () => 550;
    await fixture.admin.post(`${base}/${id}/test`, {});
    await waitForDeliveries(id, 'dead');
    const { lastAttempt } = (await fixture.admin.get(`${base}/${id}`)).body;
    expect(lastAttempt).toMatchObject({
      status: 'dead',
      statusCode: 550,
      error: expect.stringContaining('no such mailbox'),
    });
    expect(JSON.stringify(lastAttempt) + fixture.harness.logs.join('')).not.toContain('relay-secret');
  });

  it('the last test of a notification channel shows the result of each recipient', async () => {
    const [good, wrong, later] = [generateMailAddress(), generateMailAddress(), generateMailAddress()];
    mailbox.refuseRecipient = (to) => (to === wrong ? 550 : null);
    mailbox.onMessage = (to) => (to === later ? 451 : null);
    const { id, lastTest } = await createChannel({ kind: 'email', target: { to: [good, wrong, later] } });
    expect(lastTest).toBeNull();
    const readChannel = async () => (await fixture.admin.get(`${base}/${id}`)).body;
    for (let times = 1; times <= 2; times += 1) {
      expect((await fixture.admin.post(`${base}/${id}/test`, {})).body).toEqual({ messages: 3 });
      await waitForDeliveries(id, 'dead', times);
      await waitForDeliveries(id, 'delivered', times);
      await waitFor('the refused message', async () => (await readChannel()).lastTest.results[2].error !== null);
      const results = [
        { recipient: good, status: 'delivered', statusCode: 250, error: null },
        { recipient: wrong, status: 'dead', statusCode: 550, error: expect.stringContaining('no such mailbox') },
        { recipient: later, status: 'pending', statusCode: 451, error: expect.stringContaining('not now') },
      ];
      expect((await readChannel()).lastTest).toEqual({ at: expect.any(String), results });
    }
    const listed = (await fixture.admin.get(base)).body.notificationChannels.find((each: any) => each.id === id);
    expect(listed.lastTest).toEqual((await readChannel()).lastTest);
  });

  it('a change of a channel’s recipients is recorded, and an invalid one changes nothing', async () => {
    const [one, two] = [generateMailAddress(), generateMailAddress()];
    const { id } = await createMailChannel(one);
    const changeTarget = (target: object) => fixture.admin.patch(`${base}/${id}`, { target });
    for (const wrong of [{ to: [] }, { to: ['desk'] }, { url: 'https://93.184.215.14/' }, { to: [two], cc: [one] }]) {
      expect([wrong, (await changeTarget(wrong)).status]).toEqual([wrong, 400]);
    }
    expect((await fixture.admin.get(`${base}/${id}`)).body.target).toEqual({ to: [one] });
    expect((await changeTarget({ to: [two] })).body.target).toEqual({ to: [two] });
    const { entries } = (await fixture.admin.get('/api/audit?limit=50')).body;
    expect(entries.filter(({ target }: any) => target.id === id).map(({ changes }: any) => changes)).toEqual([
      { target: [{ to: [one] }, { to: [two] }] },
      expect.objectContaining({ kind: 'email', target: { to: [one] } }),
    ]);
  });

  it('notification channels are accessible only to admins of their organization', async () => {
    const { id } = await createMailChannel(generateMailAddress());
    const other = await fixture.harness.makeTenant();
    for (const client of [fixture.tenant.as.member, fixture.tenant.api])
      expect((await client.get(base)).status).toBe(403);
    for (const answer of await Promise.all([
      other.as.admin.get(`${base}/${id}`),
      other.as.admin.patch(`${base}/${id}`, { name: 'x' }),
      other.as.admin.post(`${base}/${id}/test`, {}),
      other.as.admin.delete(`${base}/${id}`),
    ])) {
      expect(answer.status).toBe(404);
    }
  });

  it.each([
    [{ kind: 'email' }, 'target'],
    [{ kind: 'email', target: {} }, 'target.to'],
    [{ kind: 'email', target: { to: ['a@b.example, c@d.example'] } }, 'target.to.0'],
    [{ kind: 'email', target: { to: ['a@b.example'], url: 'https://93.184.215.14/' } }, 'target.url'],
    [{ kind: 'slack', target: {} }, 'target.url'],
    [{ kind: 'slack', target: { url: 'https://93.184.215.14/', to: ['a@b.example'] } }, 'target.to'],
    [{ kind: 'teams', target: { url: 'http://169.254.169.254/latest' } }, 'target.url'],
    [{ kind: 'webhook', target: { url: 'http://10.0.0.1/' } }, 'target.url'],
    [{ kind: 'fax', target: { url: 'https://93.184.215.14/' } }, 'kind'],
    [{ kind: 'slack', target: { url: 'https://93.184.215.14/' }, events: [] }, 'events'],
  ])('a notification channel cannot be created with %j', async (body, field) => {
    const answer = await fixture.admin.post(base, { name: 'x', events: ['*'], ...body });
    expect([answer.status, answer.body.errors?.[0].field]).toEqual([400, field]);
  });
});
