import { createHmac } from 'node:crypto';
import type { InboundKeys } from './inbound-codes';
import { findCodeInText, parseInboundMessage } from './parse-inbound-message';

describe('the code in a message', () => {
  it.each<[string, string | null, string | null]>([
    ['Your code is 1234.', null, '1234'],
    ['12345678', null, '12345678'],
    ['123', null, null],
    ['123456789', null, null],
    ['A1234', null, null],
    ['1234_', null, null],
    ['first 1111 then 2222', null, '1111'],
    ['code: AB12', 'code: (\\w+)', 'AB12'],
    ['code: AB12', '[A-Z]{2}\\d{2}', 'AB12'],
    ['code: AB1', 'code: (\\w+)', null],
    ['code: ABCDE12345', 'code: (\\w+)', 'ABCDE12345'],
    ['code: ABCDE123456', 'code: (\\w+)', null],
    ['code: AB-12', 'code: (\\S+)', null],
    ['nothing', 'code: (\\w+)', null],
  ])('in %j with the pattern %s, it is %s', (text, pattern, code) => {
    expect(findCodeInText(text, pattern)).toBe(code);
  });
});

describe('a message of Mailgun', () => {
  const now = new Date('2026-03-02T09:00:00.000Z');
  const seconds = now.getTime() / 1000;
  const keys = { secret: 'own', gatewayKeys: { mailgun: 'key' } } as unknown as InboundKeys;
  const parseMailgunMessage = (timestamp: number, more: Record<string, string> = {}) => {
    const signature = createHmac('sha256', 'key').update(`${timestamp}token`).digest('hex');
    const form = { timestamp: String(timestamp), token: 'token', signature, subject: 'Code', 'body-plain': '4711' };
    const bytes = Buffer.from(new URLSearchParams({ ...form, from: 'Payer <codes@payer.test>', ...more }).toString());
    const posted = { url: '', contentType: 'application/x-www-form-urlencoded', bytes, header: () => undefined };
    return parseInboundMessage(posted, keys, now);
  };

  it('a Mailgun message is read with the address and the text of its mail', async () => {
    expect(await parseMailgunMessage(seconds)).toMatchObject({ from: 'codes@payer.test', text: 'Code\n4711' });
    expect(await parseMailgunMessage(seconds, { 'stripped-text': '4712' })).toMatchObject({ text: 'Code\n4712' });
  });

  it.each([
    [-301, false],
    [-300, true],
    [300, true],
    [301, false],
  ])('whether a Mailgun message is accepted that was signed %s s away from now is %s', async (away, counts) => {
    expect((await parseMailgunMessage(seconds + away)) !== null).toBe(counts);
  });

  it('a Mailgun message with a wrong signature or without a token is refused', async () => {
    expect(await parseMailgunMessage(seconds, { signature: '00' })).toBeNull();
    expect(await parseMailgunMessage(seconds, { token: '' })).toBeNull();
  });
});
