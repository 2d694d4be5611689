import { connect, type Socket } from 'node:net';
import { loadTestConfig, waitFor } from '@muster/testing';
import { type App, createApp } from '../../create-app';

/** Sends the whole body like a proxy, whatever the response is. `failed`: whether the connection failed. */
async function sendWholeBody(
  url: string,
  head: string,
  bytes: number,
): Promise<{ answers: string[]; failed: boolean }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setMaxListeners(0);
  let received = '';
  let failed = false;
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  socket.on('error', () => (failed = true));
  socket.write(`${head}\r\nhost: muster.test\r\ncontent-length: ${bytes}\r\n\r\n`);
  const piece = Buffer.alloc(64 * 1024, 'x');
  for (let left = bytes; left > 0 && !failed; left -= piece.length) {
    if (!socket.write(piece.subarray(0, Math.min(left, piece.length))) && !failed) {
      await waitForFirstEvent(socket, 'drain', 'close');
    }
  }
  await waitFor('an answer', () => failed || received.includes('\r\n\r\n'));
  // If the service has read the rest of the body, the next request can use the same connection.
  socket.write('GET /api/nowhere HTTP/1.1\r\nhost: muster.test\r\nconnection: close\r\n\r\n');
  await waitFor('the end', () => failed || socket.readableEnded);
  socket.destroy();
  return { answers: [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status!), failed };
}

/** Resolves at the first of the events. Errors do not count as events. */
function waitForFirstEvent(socket: Socket, ...events: string[]): Promise<void> {
  return new Promise((resolve) => {
    for (const event of events) socket.once(event, () => resolve());
  });
}

describe('a response before the body was read', () => {
  let app: App;
  let url: string;

  beforeAll(async () => {
    const config = loadTestConfig('postgres://127.0.0.1:1/none', { LOG_LEVEL: 'silent' });
    app = await createApp({ name: 'gateway', configs: [config], modules: [] });
    await app.nest.listen(0, '127.0.0.1');
    url = await app.nest.getUrl();
  });
  afterAll(() => app.close());

  it('a connection stays usable after a response that was sent before the request’s body was read', async () => {
    for (let at = 0; at < 5; at += 1) {
      const head = 'POST /api/elsewhere HTTP/1.1\r\ncontent-type: application/json';
      expect(await sendWholeBody(url, head, 8 * 1024 * 1024)).toEqual({ answers: ['404', '404'], failed: false });
    }
  });

  it.each([
    ['with a Content-Length', `content-length: ${10 ** 12}`],
    ['with chunked encoding', 'transfer-encoding: chunked'],
  ])('a sender %s is disconnected when its unread body exceeds the limit', async (_, length) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname).setMaxListeners(0);
    let over = false;
    socket.on('close', () => (over = true));
    socket.on('error', () => undefined);
    socket.resume();
    socket.write(`POST /api/x HTTP/1.1\r\nhost: muster.test\r\n${length}\r\n\r\n`);
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 'x'), Buffer.from('\r\n')]);
    while (!over) if (!socket.write(chunk)) await waitForFirstEvent(socket, 'drain', 'close');
    socket.destroy();
  });
});
