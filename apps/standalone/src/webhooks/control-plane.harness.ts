import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A customer's control plane with one machine, which stops on request and never starts. */
export class ControlPlane {
  private state = 'running';

  private constructor(private readonly server: Server) {}

  static async start(): Promise<ControlPlane> {
    const server = createServer((request, response) => {
      request.resume();
      if (request.url!.endsWith('/stop')) plane.state = 'stopped';
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ state: plane.state }));
    });
    const plane = new ControlPlane(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return plane;
  }

  get providerConfig() {
    return { baseUrl: `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`, ref: 'm-1' };
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
