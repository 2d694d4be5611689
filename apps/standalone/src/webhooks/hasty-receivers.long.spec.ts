// This test is long because it waits in real time for receivers that hang.
// A short test of the same code: apps/standalone/src/webhooks/delivered.spec.ts
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@muster/testing';
import { WebhookFixture } from './webhook-fixture.harness';

jest.setTimeout(120_000);

const large = 'x'.repeat(250_000);
const buildHttpAnswer = (status: string) => `HTTP/1.1 ${status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`;

/** Uses raw sockets, because a proxy in front of a receiver can answer before it has read the whole request. */
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

  /** Sends an event to a receiver that calls `onFirst` at the first bytes of each connection; returns the delivery. */
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
    await fixture.runJob('completed', {}, { result: { large } });
    const delivery = await waitFor('the attempt', async () => {
      const [row] = await fixture.listDeliveries(created.body.id);
      return row?.attempts.length > 0 && row;
    });
    const detail = await fixture.admin.get(`/api/webhook-endpoints/${created.body.id}/deliveries/${delivery.id}`);
    expect(JSON.parse(detail.body.body).data.result).toEqual({ large });
    expect((await fixture.admin.delete(`/api/webhook-endpoints/${created.body.id}`)).status).toBe(204);
    return delivery;
  }

  it('a webhook delivery succeeds if the receiver accepts it before reading the whole body', async () => {
    const delivery = await deliverTo((socket) => {
      socket.write(buildHttpAnswer('204 No Content'));
      // A receiver that closes a connection correctly still reads the rest of the request, and discards it.
      socket.resume();
      setTimeout(() => socket.end(), 100);
    });
    expect(delivery).toMatchObject({ status: 'delivered', attempts: [{ statusCode: 204, error: null }] });
  });

  it('a webhook delivery stays pending with the HTTP status if the receiver refuses it before reading the whole body', async () => {
    const delivery = await deliverTo((socket) => {
      socket.write(buildHttpAnswer('413 Payload Too Large'));
      socket.resume();
      setTimeout(() => socket.end(), 100);
    });
    expect(delivery).toMatchObject({ status: 'pending', attempts: [{ statusCode: 413 }] });
  });

  it('a webhook delivery stays pending if the receiver resets the connection during the body', async () => {
    const delivery = await deliverTo((socket) => socket.resetAndDestroy());
    expect(delivery).toMatchObject({ status: 'pending', attempts: [{ statusCode: null, error: expect.any(String) }] });
  });

  it('an attempt to deliver a webhook ends at once if the receiver answers and resets the connection', async () => {
    const delivery = await deliverTo((socket) => {
      socket.write(buildHttpAnswer('200 OK'), () => socket.resetAndDestroy());
    });
    const [attempt] = delivery.attempts;
    expect([200, null]).toContain(attempt.statusCode);
    expect(delivery.status).toBe(attempt.error === null ? 'delivered' : 'pending');
    expect(attempt.durationMs).toBeLessThan(9000);
  });

  it('an attempt to deliver a webhook times out after ten seconds if the receiver stops reading', async () => {
    const delivery = await deliverTo((socket) => socket.pause());
    expect(delivery).toMatchObject({
      status: 'pending',
      attempts: [{ statusCode: null, error: 'no complete response within 10000 ms' }],
    });
  });
});
