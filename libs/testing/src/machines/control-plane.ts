import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A fake control plane of a customer, whose behaviour a test can set. */
export class ControlPlane {
  state = 'stopped';
  readonly orders: string[] = [];
  behaviour: 'well' | 'fails' | 'hangs' | 'lies' = 'well';
  /** Number of failed requests before the control plane works again. */
  failures = Infinity;
  readonly signatures: string[] = [];
  private readonly server: Server = createServer((request, response) => {
    this.signatures.push(String(request.headers['x-service-signature']));
    const order = request.method === 'GET' ? 'describe' : request.url!.split('/').at(-1)!;
    this.orders.push(order);
    if (this.behaviour === 'hangs') return;
    if (this.behaviour === 'fails' && order !== 'describe' && this.failures > 0) {
      this.failures -= 1;
      return sendJson(response, 500, {});
    }
    if (order === 'describe') return sendJson(response, 200, { state: this.state, ip: null });
    if (this.behaviour !== 'lies') this.state = { start: 'running', reboot: 'running' }[order] ?? 'stopped';
    if (order === 'terminate') this.state = 'gone';
    return sendJson(response, 202, {});
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
