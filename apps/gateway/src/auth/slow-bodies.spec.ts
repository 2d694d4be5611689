import { connect, type Socket } from 'node:net';
import { type Harness, startHarness, type Tenant, waitFor } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('bodies without verified credentials', () => {
  let harness: Harness;
  let tenant: Tenant;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  afterAll(() => harness.close());

  /** Sends the head of a request and the first byte of its body. */
  function beginBody(path: string, address: string) {
    const { port, host } = new URL(harness.url);
    const socket = connect(Number(port), '127.0.0.1');
    sockets.push(socket);
    const sent = { socket, answer: '' };
    socket.on('data', (chunk) => (sent.answer += String(chunk)));
    socket.on('error', () => undefined);
    const fields = [`Host: ${host}`, `X-Forwarded-For: ${address}`, 'Content-Type: application/json'];
    socket.write(`POST ${path} HTTP/1.1\r\n${fields.join('\r\n')}\r\nContent-Length: 100\r\n\r\n{`);
    return sent;
  }
  /** Sends a complete sign-in body without a password, which is rejected before any password is hashed. */
  const sendCompleteBody = (address: string) =>
    harness.http.with({ 'x-forwarded-for': address }).post('/api/auth/login', { email: 'nobody' });

  it('at most 64 request bodies of unauthenticated clients can be in progress per address', async () => {
    const crowded = '192.0.2.7';
    const slow = Array.from({ length: 64 }, () => beginBody('/api/auth/login', crowded));
    const refused = await waitFor('the limit', async () => {
      const answer = await sendCompleteBody(crowded);
      return answer.status === 429 && answer;
    });
    expect(refused.body).toMatchObject({ code: 'rate_limited', detail: expect.stringContaining('64 other') });
    expect(refused.headers.get('retry-after')).toBe('30');
    expect((await sendCompleteBody('192.0.2.8')).status).toBe(400);
    // A client with a valid key has its own limit, whatever its address.
    expect((await tenant.api.with({ 'x-forwarded-for': crowded }).post('/api/jobs/launch', {})).status).toBe(400);
    expect(slow.map(({ answer }) => answer).filter(Boolean)).toEqual([]);
    slow[0]!.socket.destroy();
    await waitFor('a free slot', async () => (await sendCompleteBody(crowded)).status === 400);
  });

  it('request bodies that have arrived do not count for the limit of bodies in progress', async () => {
    for (let n = 0; n < 70; n += 1) expect((await sendCompleteBody('192.0.2.9')).status).toBe(400);
  });
});
