import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The request to hold: before the store receives it, or before its response is returned. */
export interface HeldRequest {
  method: string;
  path: RegExp;
  when: 'before' | 'after';
}

/** A proxy of the object store that can hold single requests. It keeps the headers, so signatures stay valid. */
export class StoreGate {
  private heldRequest: HeldRequest | null = null;
  private reach: (() => void) | null = null;

  private constructor(
    private readonly server: Server,
    private readonly store: URL,
  ) {}

  static async build(store: string): Promise<StoreGate> {
    const server = createServer();
    const gate = new StoreGate(server, new URL(store));
    server.on('request', (incoming, answer) => {
      void gate.forwardRequest(incoming).then(
        (upstreamResponse) => {
          answer.writeHead(upstreamResponse.statusCode!, upstreamResponse.rawHeaders);
          upstreamResponse.pipe(answer);
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

  /** Resolves when a request is held. The held request never continues. */
  hold(heldRequest: HeldRequest): Promise<void> {
    this.heldRequest = heldRequest;
    return new Promise((resolve) => (this.reach = resolve));
  }

  open(): void {
    this.heldRequest = null;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async forwardRequest(incoming: IncomingMessage): Promise<IncomingMessage> {
    const { method, url, headers } = incoming;
    const { heldRequest } = this;
    const isHeld = heldRequest !== null && heldRequest.method === method && heldRequest.path.test(url!);
    if (isHeld && heldRequest.when === 'before') return this.holdForever();
    const upstreamResponse = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request(this.store, { method, path: url, headers }, resolve);
      outgoing.on('error', reject);
      incoming.pipe(outgoing);
    });
    return isHeld ? this.holdForever() : upstreamResponse;
  }

  private holdForever(): Promise<never> {
    this.reach?.();
    return new Promise(() => undefined);
  }
}
