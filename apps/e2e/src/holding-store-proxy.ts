import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The request to hold: before the store receives it, or before its response is returned. */
export interface HeldRequest {
  method: string;
  path: RegExp;
  when: 'before' | 'after';
}

/** A proxy of the object store that can hold a request. It forwards the headers unchanged, so signatures stay valid. */
export class HoldingStoreProxy {
  private heldRequest: HeldRequest | null = null;
  private reach: (() => void) | null = null;

  private constructor(
    private readonly server: Server,
    private readonly store: URL,
  ) {}

  static async build(store: string): Promise<HoldingStoreProxy> {
    const server = createServer();
    const proxy = new HoldingStoreProxy(server, new URL(store));
    server.on('request', (incoming, answer) => {
      void proxy.forwardRequest(incoming).then(
        (upstreamResponse) => {
          answer.writeHead(upstreamResponse.statusCode!, upstreamResponse.rawHeaders);
          upstreamResponse.pipe(answer);
        },
        () => answer.destroy(),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves when a request is held. The held request never continues. */
  holdRequest(heldRequest: HeldRequest): Promise<void> {
    this.heldRequest = heldRequest;
    return new Promise((resolve) => (this.reach = resolve));
  }

  releaseRequest(): void {
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
