import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Where one request to the store is held: before the store hears of it, or before its answer is heard of. */
export interface GatePlace {
  method: string;
  path: RegExp;
  when: 'before' | 'after';
}

/** The object store as a service reaches it, with a gate before single requests. What is signed stays as it was. */
export class StoreGate {
  private place: GatePlace | null = null;
  private reach: (() => void) | null = null;

  private constructor(
    private readonly server: Server,
    private readonly store: URL,
  ) {}

  static async build(store: string): Promise<StoreGate> {
    const server = createServer();
    const gate = new StoreGate(server, new URL(store));
    server.on('request', (incoming, answer) => {
      void gate.pass(incoming).then(
        (given) => {
          answer.writeHead(given.statusCode!, given.rawHeaders);
          given.pipe(answer);
        },
        () => answer.destroy(),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return gate;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves when a request is held there; it never goes on. */
  hold(place: GatePlace): Promise<void> {
    this.place = place;
    return new Promise((resolve) => (this.reach = resolve));
  }

  open(): void {
    this.place = null;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async pass(incoming: IncomingMessage): Promise<IncomingMessage> {
    const { method, url, headers } = incoming;
    const { place } = this;
    const isHeld = place !== null && place.method === method && place.path.test(url!);
    if (isHeld && place.when === 'before') return this.keep();
    const given = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request(this.store, { method, path: url, headers }, resolve);
      outgoing.on('error', reject);
      incoming.pipe(outgoing);
    });
    return isHeld ? this.keep() : given;
  }

  private keep(): Promise<never> {
    this.reach?.();
    return new Promise(() => undefined);
  }
}
