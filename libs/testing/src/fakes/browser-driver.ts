import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { waitFor } from '../wait-for';

/** Controls a browser like a user: over its debugging port, with the events of a real mouse and keyboard. */
export class BrowserDriver {
  private count = 0;
  private readonly answers = new Map<number, (answer: any) => void>();
  private session: string | undefined;

  private constructor(private readonly socket: Socket) {
    let rest: Buffer = Buffer.alloc(0);
    let message: Buffer[] = [];
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => {
      rest = Buffer.concat([rest, piece]);
      for (;;) {
        const frame = decodeWebSocketFrame(rest);
        if (!frame) return;
        rest = rest.subarray(frame.end);
        message.push(frame.content);
        if (!frame.isLast) continue;
        const answer = JSON.parse(Buffer.concat(message).toString());
        message = [];
        this.answers.get(answer.id)?.(answer);
      }
    });
  }

  static async connect(debuggingUrl: string): Promise<BrowserDriver> {
    const upgrade = request(debuggingUrl.replace(/^ws/, 'http'), {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': randomBytes(16).toString('base64'),
      },
    });
    upgrade.end();
    const [, socket] = (await once(upgrade, 'upgrade')) as [unknown, Socket];
    const driver = new BrowserDriver(socket);
    const { targetInfos } = await driver.callMethod('Target.getTargets');
    const { targetId } = targetInfos.find(({ type }: { type: string }) => type === 'page');
    driver.session = (await driver.callMethod('Target.attachToTarget', { targetId, flatten: true })).sessionId;
    return driver;
  }

  async callMethod(method: string, params: object = {}): Promise<any> {
    const id = (this.count += 1);
    const answered = new Promise<any>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method} was not answered`)), 15_000);
      this.answers.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
    });
    this.socket.write(encodeWebSocketFrame(JSON.stringify({ id, method, params, sessionId: this.session })));
    const { result, error } = await answered;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  async evaluate(expression: string): Promise<any> {
    const params = { expression, returnByValue: true, awaitPromise: true };
    const { result, exceptionDetails } = await this.callMethod('Runtime.evaluate', params);
    if (exceptionDetails) throw new Error(`${expression}: ${result.description}`);
    return result.value;
  }

  /** Waits until the expression is true in the page. */
  waitUntilTrue(expression: string): Promise<unknown> {
    return waitFor(expression, () => this.evaluate(expression).catch(() => false));
  }

  /** Clicks the middle of the element that the expression returns, as soon as the element exists. */
  async click(element: string, count = 1): Promise<void> {
    await this.waitUntilTrue(`Boolean(${element})`);
    const box = await this.evaluate(
      `(() => { const e = ${element}; e.scrollIntoView(); const { x, y, width, height } = e.getBoundingClientRect();` +
        'return { x: x + width / 2, y: y + height / 2 } })()',
    );
    await this.dispatchMouseEvent('mouseMoved', box);
    for (let clickCount = 1; clickCount <= count; clickCount += 1) {
      for (const type of ['mousePressed', 'mouseReleased']) {
        await this.dispatchMouseEvent(type, { ...box, button: 'left', clickCount });
      }
    }
  }

  async type(text: string): Promise<void> {
    for (const key of text) {
      await this.callMethod('Input.dispatchKeyEvent', { type: 'keyDown', key, text: key });
      await this.callMethod('Input.dispatchKeyEvent', { type: 'keyUp', key });
    }
  }

  async press(key: string, windowsVirtualKeyCode: number): Promise<void> {
    const text = key === 'Enter' ? '\r' : undefined;
    await this.callMethod('Input.dispatchKeyEvent', {
      type: text ? 'keyDown' : 'rawKeyDown',
      key,
      text,
      windowsVirtualKeyCode,
    });
    await this.callMethod('Input.dispatchKeyEvent', { type: 'keyUp', key, windowsVirtualKeyCode });
  }

  async turnWheel(deltaY: number): Promise<void> {
    await this.dispatchMouseEvent('mouseWheel', { x: 300, y: 300, deltaX: 0, deltaY });
  }

  close(): void {
    this.socket.destroy();
  }

  private dispatchMouseEvent(type: string, more: object): Promise<unknown> {
    return this.callMethod('Input.dispatchMouseEvent', { type, ...more });
  }
}

function encodeWebSocketFrame(text: string): Buffer {
  const content = Buffer.from(text);
  const mask = randomBytes(4);
  const head = Buffer.alloc(10);
  head.writeUInt8(0x81, 0);
  head.writeUInt8(0x80 | 127, 1);
  head.writeBigUInt64BE(BigInt(content.length), 2);
  return Buffer.concat([head, mask, content.map((byte, at) => byte ^ mask[at % 4]!)]);
}

function decodeWebSocketFrame(bytes: Buffer): { isLast: boolean; content: Buffer; end: number } | null {
  if (bytes.length < 10 && (bytes.length < 2 || bytes.length < 2 + ({ 126: 2, 127: 8 }[bytes[1]!] ?? 0))) return null;
  const short = bytes[1]!;
  const from = short < 126 ? 2 : short === 126 ? 4 : 10;
  const size = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (bytes.length < from + size) return null;
  return { isLast: (bytes[0]! & 0x80) !== 0, content: bytes.subarray(from, from + size), end: from + size };
}
