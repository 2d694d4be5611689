import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { newId } from '@muster/platform';
import { createQuestionHelpers } from './questions.harness';
import { AutopilotHarness } from './autopilot/autopilot.harness';

jest.setTimeout(120_000);

describe('codes that arrive without a person', () => {
  let pilot: AutopilotHarness;

  beforeAll(async () => {
    pilot = await AutopilotHarness.start();
  });
  afterAll(() => pilot.close());

  const { launch, ended, running, ask, rows } = createQuestionHelpers(() => pilot);

  describe('a TOTP secret in the vault', () => {
    const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
    const requestTotp = (jobId: string, key = 'DD_TOTP') =>
      pilot.tenant.worker.post(`/api/jobs/${jobId}/totp`, { key });

    beforeAll(async () => {
      const value = `otpauth://totp/Payer:us?secret=${secret}&period=2&digits=8`;
      const put = await pilot.tenant.as.admin.put('/api/vault/DD_TOTP', { kind: 'totp', value });
      expect([put.status, put.body.kind]).toEqual([200, 'totp']);
    });

    it('a run gets the code of a TOTP secret but never the secret, and the code is redacted in output', async () => {
      const script = `
import os
code = muster.totp("DD_TOTP")
print(code)
muster.result([len(code), code, [name for name, value in os.environ.items() if name == "DD_TOTP" or "${secret}" in value]])`;
      const jobId = await launch(script, { vaultKeys: ['DD_TOTP', 'PORTAL_PASSWORD'] });
      expect(await ended(jobId)).toMatchObject({ status: 'completed', result: [8, '[redacted]', []] });
    });

    it('a run that does not name a TOTP secret in its vault keys gets no code', async () => {
      const { id } = await running();
      const refused = await requestTotp(id);
      expect([refused.status, refused.body.detail]).toEqual([404, expect.stringMatching('DD_TOTP in its vaultKeys')]);
    });

    it('an account cannot name a TOTP secret, because a run would need its value', async () => {
      const account = { pool: 'payer', vaultKeys: { code: 'DD_TOTP' } };
      const put = await pilot.tenant.as.admin.put('/api/accounts/payer-1', account);
      expect([put.status, put.body.errors?.[0].field]).toEqual([400, 'vaultKeys.code']);
    });

    it('a TOTP code is returned to one run only, and not before the code is valid', async () => {
      const vaultKeys = ['DD_TOTP', 'PORTAL_PASSWORD'];
      const [one, two] = [await running({ vaultKeys }), await running({ vaultKeys })];
      const responses = await Promise.all([requestTotp(one.id), requestTotp(two.id)]);
      const [first, second] = responses.map(({ body }) => body).sort((a, b) => a.validFrom.localeCompare(b.validFrom));
      expect(first.code).not.toBe(second.code);
      expect(Date.parse(first.expiresAt) - Date.parse(first.validFrom)).toBe(2000);
      expect(Date.parse(second.validFrom)).toBeGreaterThanOrEqual(Date.parse(first.expiresAt));
      expect(Date.parse(second.validFrom)).toBeLessThanOrEqual(Date.now());
      expect((await requestTotp(one.id, 'PORTAL_PASSWORD')).status).toBe(404);
      const wrong = await pilot.tenant.as.admin.put('/api/vault/BAD', { kind: 'totp', value: 'not base32!' });
      expect(wrong.status).toBe(400);
    });
  });

  describe('an inbound address', () => {
    const createInboundCode = async (more: object = {}) => {
      const created = await pilot.tenant.as.admin.post('/api/inbound-codes', { name: newId(), ...more });
      expect(created.status).toBe(201);
      return created.body as { id: string; name: string; url: string; secret: string };
    };
    const postRawBody = async (url: string, body: string | Buffer, headers: Record<string, string>) => {
      const path = new URL(url).pathname;
      const sent = await fetch(pilot.harness.url + path, { method: 'POST', body: body as string, headers });
      return { status: sent.status, body: (await sent.json()) as any };
    };
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const getEpochSeconds = () => String(Math.floor(Date.now() / 1000));
    const postSigned = (
      { url, secret }: { url: string; secret: string },
      text: string,
      { from = 'payer', t = getEpochSeconds() }: { from?: string; t?: string } = {},
    ) => {
      const body = JSON.stringify({ from, text });
      const v1 = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
      return postRawBody(url, body, { 'content-type': 'application/json', 'x-service-signature': `t=${t},v1=${v1}` });
    };
    const askForCode = async (inbound: string, more: object = {}) => {
      const { id } = await running();
      const question = await ask(id, { kind: 'code', inbound, ...more });
      expect(question.status).toBe(201);
      const path = `/api/jobs/${id}/questions/${question.body.questionId}`;
      return { ...question.body, read: async () => (await pilot.tenant.worker.get(path)).body };
    };

    it('a message to an inbound address answers only the oldest waiting question, even if the message is repeated', async () => {
      const address = await createInboundCode();
      const [first, second] = [await askForCode(address.name), await askForCode(address.name)];
      // A replayed request has the same timestamp and therefore the same signature.
      const t = getEpochSeconds();
      expect((await postSigned(address, 'Your code is 482913.', { t })).body).toEqual({ accepted: true });
      expect(await first.read()).toMatchObject({ status: 'answered', answer: '482913' });
      expect((await second.read()).status).toBe('open');
      const again = await postSigned(address, 'Your code is 482913.', { t });
      expect(again.body).toEqual({ accepted: false, reason: 'replayed' });
      expect((await second.read()).status).toBe('open');
      expect((await postSigned(address, 'no code here')).body).toEqual({ accepted: false, reason: 'no_code' });
      const { body } = await pilot.tenant.api.get(`/api/questions/${first.questionId}`);
      expect(body).toMatchObject({ answeredVia: 'inbound', answer: null });
    });

    it('a code that arrived before a question never answers it, whatever asking time the script reports', async () => {
      const address = await createInboundCode({ pattern: 'PIN ([A-Z]{2}[0-9]{4})', senders: ['payer'] });
      expect((await postSigned(address, 'PIN AB1234', { from: 'another sender' })).body.reason).toBe('sender');
      await postSigned(address, 'PIN AB1234');
      expect((await askForCode(address.name)).status).toBe('open');
      const [{ sealed }] = await rows(
        'SELECT sealed FROM inbound_message WHERE inbound_id = $1 AND sealed IS NOT NULL',
        address.id,
      );
      expect(JSON.stringify(sealed)).not.toContain('AB1234');
      const late = await askForCode(address.name, { askedMsAgo: 60_000 });
      expect([late.status, (await late.read()).status]).toEqual(['open', 'open']);
      const { messages } = (await pilot.tenant.as.admin.get(`/api/inbound-codes/${address.id}/messages`)).body;
      expect(messages).toMatchObject([{ code: 'AB1234' }]);
    });

    it('an inbound address accepts signatures of Twilio, Mailgun and SendGrid, and rejects wrong ones', async () => {
      const twilio = await createInboundCode({ gatewayKeys: { twilio: 'twilio-auth-token' } });
      const sms = { From: '+15550100', Body: 'Code: 771204', MessageSid: 'SM1' };
      const url = `${pilot.harness.url}/api/inbound/${twilio.id}`;
      const signed = Object.entries(sms)
        .sort()
        .reduce((text, pair) => text + pair.join(''), url);
      const mac = createHmac('sha1', 'twilio-auth-token').update(signed).digest('base64');
      const question = await askForCode(twilio.name);
      const sms64 = { ...form, 'x-twilio-signature': mac };
      expect((await postRawBody(url, String(new URLSearchParams({ ...sms, Body: '0000' })), sms64)).status).toBe(401);
      expect((await postRawBody(url, String(new URLSearchParams(sms)), sms64)).body).toEqual({ accepted: true });
      expect((await question.read()).answer).toBe('771204');

      const mailgun = await createInboundCode({ gatewayKeys: { mailgun: 'mailgun-signing-key' } });
      const buildSignedMail = (timestamp = getEpochSeconds(), key = 'mailgun-signing-key') => {
        const token = newId();
        const signature = createHmac('sha256', key)
          .update(timestamp + token)
          .digest('hex');
        const fields = { from: 'Payer <codes@payer.test>', subject: 'Code', 'body-plain': 'It is 55512' };
        return String(new URLSearchParams({ ...fields, timestamp, token, signature }));
      };
      const second = await askForCode(mailgun.name);
      expect((await postRawBody(mailgun.url, buildSignedMail('1700000000'), form)).status).toBe(401);
      // The key of a gateway is valid only for messages in the format of that gateway. An inbound address without the
      // key of a gateway refuses the messages of that gateway.
      const signedJson = await postSigned({ ...mailgun, secret: 'mailgun-signing-key' }, 'Code: 55512');
      const signedForms = [
        buildSignedMail(),
        buildSignedMail(getEpochSeconds(), twilio.secret),
        buildSignedMail(getEpochSeconds(), 'twilio-auth-token'),
      ];
      const refusals = await Promise.all(signedForms.map((body) => postRawBody(twilio.url, body, form)));
      expect([signedJson, ...refusals].map(({ status }) => status)).toEqual([401, 401, 401, 401]);
      expect((await postRawBody(mailgun.url, buildSignedMail(), form)).status).toBe(200);
      expect((await second.read()).answer).toBe('55512');

      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const sendgridKey = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
      const body = { name: newId(), gatewayKeys: { sendgrid: sendgridKey.slice(4) } };
      const refused = await pilot.tenant.as.admin.post('/api/inbound-codes', body);
      expect([refused.status, refused.body.errors?.[0].field]).toEqual([400, 'gatewayKeys.sendgrid']);
      const sendgrid = await createInboundCode({ gatewayKeys: { sendgrid: sendgridKey } });
      const multipart = new FormData();
      for (const [name, value] of [
        ['from', 'codes@payer.test'],
        ['subject', 'Code'],
        ['text', 'It is 90210'],
      ]) {
        multipart.set(name!, value!);
      }
      const request = new Request('http://x', { method: 'POST', body: multipart });
      const bytes = Buffer.from(await request.clone().arrayBuffer());
      const timestamp = getEpochSeconds();
      const signature = sign('sha256', Buffer.concat([Buffer.from(timestamp), bytes]), privateKey).toString('base64');
      const third = await askForCode(sendgrid.name);
      const headers = {
        'content-type': request.headers.get('content-type')!,
        'x-twilio-email-event-webhook-timestamp': timestamp,
      };
      const name = 'x-twilio-email-event-webhook-signature';
      const forged = sign('sha256', bytes, privateKey).toString('base64');
      expect((await postRawBody(sendgrid.url, bytes, { ...headers, [name]: forged })).status).toBe(401);
      expect((await postRawBody(sendgrid.url, bytes, { ...headers, [name]: signature })).status).toBe(200);
      expect((await third.read()).answer).toBe('90210');

      for (const id of [twilio.id, newId()]) {
        const wrong = await postSigned({ url: `http://x/api/inbound/${id}`, secret: 'wrong' }, '1234');
        expect([wrong.status, wrong.body.code]).toEqual([401, 'unauthenticated']);
      }
    });

    it('an admin can read messages that no question used while they are stored, and each read is audited', async () => {
      const address = await createInboundCode();
      const path = `/api/inbound-codes/${address.id}/messages`;
      const { as } = pilot.tenant;
      await askForCode(address.name);
      await postSigned(address, 'Your code is 111111.');
      await postSigned(address, 'Your code is 482913.', { from: '+15550100' });
      const { status, body } = await as.admin.get(path);
      expect([status, body]).toEqual([
        200,
        {
          messages: [
            { from: '+15550100', code: '482913', receivedAt: expect.any(String), expiresAt: expect.any(String) },
          ],
        },
      ]);
      const { receivedAt, expiresAt } = body.messages[0];
      expect(Date.parse(expiresAt) - Date.parse(receivedAt)).toBe(600_000);
      const { entries } = (await as.admin.get('/api/audit?limit=1')).body;
      expect(entries[0]).toMatchObject({
        ...{ action: 'inbound_code.read_messages', target: { type: 'inbound_code', id: address.id } },
        changes: { messages: 1 },
      });
      expect(JSON.stringify(entries)).not.toContain('482913');
      for (const client of [as.viewer, as.member, pilot.tenant.api]) expect((await client.get(path)).status).toBe(403);
      const other = await pilot.harness.makeTenant();
      expect((await other.as.admin.get(path)).status).toBe(404);
      await rows(
        `UPDATE inbound_message SET received_at = muster_now() - interval '11 minutes' WHERE inbound_id = $1`,
        address.id,
      );
      expect((await as.admin.get(path)).body).toEqual({ messages: [] });
    });

    it('an inbound address accepts 60 messages per minute, each of up to 64 KiB', async () => {
      const address = await createInboundCode();
      expect((await postSigned(address, 'x'.repeat(66_000))).status).toBe(413);
      await rows(
        `INSERT INTO inbound_message (inbound_id, fingerprint, organization_id)
         SELECT $1, n::text, $2 FROM generate_series(1, 60) n`,
        ...[address.id, pilot.tenant.organizationId],
      );
      expect((await postSigned(address, '482913')).status).toBe(429);
    });
  });
});
