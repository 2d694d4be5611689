import { createHash, randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';

/** Longest message that is accepted from the browser; an image of a page has a few hundred kilobytes. */
const maxMessageBytes = 32 * 1024 * 1024;
const connectMs = 10_000;
/** Appended to the key of the handshake, see RFC 6455, section 1.3. */
const handshakeGuid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

interface Events {
  message: [text: string];
  close: [];
}

/**
 * A client connection of a WebSocket (RFC 6455) to a browser on this machine. The Node.js version of the worker has no
 * WebSocket client.
 */
export class DevToolsSocket extends EventEmitter<Events> {
  private buffer: Buffer = Buffer.alloc(0);
  private parts: Buffer[] = [];

  private constructor(
    private readonly socket: Socket,
    head: Buffer,
  ) {
    super();
    socket.on('data', (bytes: Buffer) => this.takeBytes(bytes));
    socket.on('error', () => undefined);
    socket.once('close', () => this.emit('close'));
    if (head.length > 0) setImmediate(() => this.takeBytes(head));
  }

  /** Connects to a `ws:` URL. */
  static connect(url: URL): Promise<DevToolsSocket> {
    const key = randomBytes(16).toString('base64');
    return new Promise((resolve, reject) => {
      const call = request({
        host: url.hostname,
        port: url.port,
        path: url.pathname,
        agent: false,
        timeout: connectMs,
        headers: {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-key': key,
          'sec-websocket-version': '13',
        },
      });
      call.once('timeout', () => call.destroy(new Error('the browser did not answer')));
      call.once('error', reject);
      call.once('response', (response) => {
        response.resume();
        reject(new Error(`the browser answered ${response.statusCode}`));
      });
      call.once('upgrade', (response, socket, head) => {
        const accept = createHash('sha1')
          .update(key + handshakeGuid)
          .digest('base64');
        if (response.headers['sec-websocket-accept'] !== accept) {
          socket.destroy();
          return reject(new Error('the browser did not complete the handshake'));
        }
        socket.setTimeout(0);
        resolve(new DevToolsSocket(socket, head));
      });
      call.end();
    });
  }

  send(text: string): void {
    this.sendFrame(1, Buffer.from(text));
  }

  close(): void {
    this.socket.destroy();
  }

  private sendFrame(kind: number, data: Buffer): void {
    const length = data.length;
    const extended = length < 126 ? 0 : length < 65_536 ? 2 : 8;
    const head = Buffer.alloc(6 + extended);
    head[0] = 0x80 | kind;
    head[1] = 0x80 | (extended === 0 ? length : extended === 2 ? 126 : 127);
    if (extended === 2) head.writeUInt16BE(length, 2);
    if (extended === 8) head.writeBigUInt64BE(BigInt(length), 2);
    // A client must mask its frames. The mask is zero, because there is no proxy between the worker and the browser
    // that unmasked bytes could confuse.
    this.socket.write(Buffer.concat([head, data]));
  }

  private takeBytes(bytes: Buffer): void {
    this.buffer = this.buffer.length > 0 ? Buffer.concat([this.buffer, bytes]) : bytes;
    for (let frame = this.readFrame(); frame; frame = this.readFrame()) this.handleFrame(frame);
  }

  /** Returns the next frame; null until all of its bytes have arrived. */
  private readFrame(): { isLast: boolean; kind: number; data: Buffer } | null {
    if (this.buffer.length < 2) return null;
    const [first, second] = [this.buffer[0]!, this.buffer[1]!];
    let length = second & 0x7f;
    let start = 2;
    if (length >= 126) {
      start = length === 126 ? 4 : 10;
      if (this.buffer.length < start) return null;
      length = start === 4 ? this.buffer.readUInt16BE(2) : Number(this.buffer.readBigUInt64BE(2));
    }
    if (length > maxMessageBytes) {
      this.close();
      return null;
    }
    if (this.buffer.length < start + length) return null;
    const data = this.buffer.subarray(start, start + length);
    this.buffer = this.buffer.subarray(start + length);
    return { isLast: (first & 0x80) !== 0, kind: first & 0x0f, data };
  }

  private handleFrame({ isLast, kind, data }: { isLast: boolean; kind: number; data: Buffer }): void {
    if (kind === 8) return this.close();
    if (kind === 9) return this.sendFrame(10, data);
    if (kind > 2) return;
    this.parts.push(data);
    if (!isLast) return;
    const text = Buffer.concat(this.parts).toString('utf8');
    this.parts = [];
    this.emit('message', text);
  }
}
