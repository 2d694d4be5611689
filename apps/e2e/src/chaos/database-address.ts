import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A fixed address of the database, as a deployment with a standby has one: connections go to the server that is the
 * primary.
 */
export class DatabaseAddress {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private port = 0;

  constructor() {
    this.server = createServer((client) => {
      const target = connect(this.port, '127.0.0.1');
      for (const [one, other] of [
        [client, target],
        [target, client],
      ] as const) {
        this.sockets.add(one);
        one
          .on('error', () => other.destroy())
          .on('close', () => {
            this.sockets.delete(one);
            other.destroy();
          });
        one.pipe(other);
      }
    });
  }

  /** Starts to forward to the server of this URL. Returns the URL with the fixed address. */
  async open(databaseUrl: string): Promise<string> {
    this.forwardTo(databaseUrl);
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    const url = new URL(databaseUrl);
    url.port = String((this.server.address() as AddressInfo).port);
    return url.href;
  }

  /** Forwards new connections to another server and ends the existing ones. */
  forwardTo(databaseUrl: string): void {
    this.port = Number(new URL(databaseUrl).port);
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}
