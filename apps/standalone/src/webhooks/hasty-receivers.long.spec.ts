// Long: waits in real time for receivers that hang.
// Short: apps/standalone/src/webhooks/delivered.spec.ts
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@muster/testing';
import { WebhookFixture } from './webhook-fixture.harness';

jest.setTimeout(120_000);

const large = 'x'.repeat(250_000);
const answer = (status: string) => `HTTP/1.1 ${status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`;

/** Uses raw sockets, because no HTTP server acts as a proxy in front of a receiver may act. */
describe('a receiver that answers or closes before it has read a large delivery', () => {
  let fixture: WebhookFixture;
  const servers: Server[] = [];

  beforeAll(async () => {
    fixture = await WebhookFixture.open();
  });
  afterAll(async () => {
    for (const server of servers) server.close();
    await fixture.close();
  });

  /** Returns the delivery of a run to a receiver that does this at the first bytes of each connection. */
  async function deliverTo(onFirst: (socket: Socket, nth: number) => void) {
    let connections = 0;
    const server = createServer((socket) => {
      const nth = (connections += 1);
      socket.on('error', () => undefined);
      socket.once('data', () => onFirst(socket, nth));
    }).listen(0, '127.0.0.1');
    servers.push(server);
    await waitFor('the server to listen', () => server.listening);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const created = await fixture.admin.post('/api/webhook-endpoints', { url, events: ['job.completed'] });
    expect(created.status).toBe(201);
    await fixture.run('completed', {}, { result: { large } });
    const delivery = await waitFor('the attempt', async () => {
      const [row] = await fixture.deliveries(created.body.id);
      return row?.attempts.length > 0 && row;
    });
    const detail = await fixture.admin.get(`/api/webhook-endpoints/${created.body.id}/deliveries/${delivery.id}`);
    expect(JSON.parse(detail.body.body).data.result).toEqual({ large });
    expect((await fixture.admin.delete(`/api/webhook-endpoints/${created.body.id}`)).status).toBe(204);
    return delivery;
  }

  it('counts as delivered if it accepts', async () => {
    const delivery = await deliverTo((socket) => {
      socket.write(answer('204 No Content'));
      // A receiver that closes correctly still reads the rest, and drops it.
      socket.resume();
      setTimeout(() => socket.end(), 100);
    });
    expect(delivery).toMatchObject({ status: 'delivered', attempts: [{ statusCode: 204, error: null }] });
  });

  it('gets the delivery again if it refuses, and its status is stored', async () => {
    const delivery = await deliverTo((socket) => {
      socket.write(answer('413 Payload Too Large'));
      socket.resume();
      setTimeout(() => socket.end(), 100);
    });
    expect(delivery).toMatchObject({ status: 'pending', attempts: [{ statusCode: 413 }] });
  });

  it('gets the delivery again if it resets the connection', async () => {
    const delivery = await deliverTo((socket) => socket.resetAndDestroy());
    expect(delivery).toMatchObject({ status: 'pending', attempts: [{ statusCode: null, error: expect.any(String) }] });
  });

  it('counts as delivered or gets the delivery again if it answers and resets at once, without a delay', async () => {
    const delivery = await deliverTo((socket) => {
      socket.write(answer('200 OK'), () => socket.resetAndDestroy());
    });
    const [attempt] = delivery.attempts;
    expect([200, null]).toContain(attempt.statusCode);
    expect(delivery.status).toBe(attempt.error === null ? 'delivered' : 'pending');
    expect(attempt.durationMs).toBeLessThan(9000);
  });

  it('times out after ten seconds if it stops reading', async () => {
    const delivery = await deliverTo((socket) => socket.pause());
    expect(delivery).toMatchObject({
      status: 'pending',
      attempts: [{ statusCode: null, error: 'no complete response within 10000 ms' }],
    });
  });
});
