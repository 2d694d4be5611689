import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Bundle } from './bundle';

/** An object store that serves whole objects and ranges, and interrupts its responses on demand. */
export class BundleStore {
  /** Requests that the store has received. */
  readonly requests: { path: string; range: string | undefined; key: string | undefined }[] = [];
  private readonly objects = new Map<string, Buffer>();
  /** Number of bytes after which each of the next responses is interrupted. */
  cuts: number[] = [];
  /** Statuses with which the next requests are answered, instead of the object. */
  refusals: number[] = [];
  ignoresRanges = false;
  /** Promise that the store waits for before it responds. */
  released: Promise<void> = Promise.resolve();
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => {
      const { range } = request.headers;
      this.requests.push({ path: request.url!, range, key: request.headers['x-api-key'] as string | undefined });
      void this.released.then(() => {
        const refusal = this.refusals.shift();
        const object = this.objects.get(request.url!);
        if (refusal ?? !object) return response.writeHead(refusal ?? 404).end();
        const from = range && !this.ignoresRanges ? Number(/^bytes=(\d+)-$/.exec(range)![1]) : 0;
        if (from >= object!.length) return response.writeHead(416).end();
        const part = object!.subarray(from);
        response.writeHead(from ? 206 : 200, {
          'content-length': part.length,
          ...(from ? { 'content-range': `bytes ${from}-${object!.length - 1}/${object!.length}` } : {}),
        });
        const cut = this.cuts.shift();
        if (cut === undefined) return response.end(part);
        return response.write(part.subarray(0, cut), () => setTimeout(() => response.destroy(), 50));
      });
    });
  }

  static async start(): Promise<BundleStore> {
    const store = new BundleStore();
    store.server.listen(0, '127.0.0.1');
    await once(store.server, 'listening');
    return store;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  addBundle(bytes: Buffer, digest = createHash('sha256').update(bytes).digest('hex')): Bundle {
    const path = `/${digest}.zip`;
    this.objects.set(path, bytes);
    return { digest, url: `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${path}` };
  }

  /** Returns how often an object was requested, whole or in part. */
  countFetches({ digest }: Bundle): number {
    return this.requests.filter(({ path }) => path.includes(digest)).length;
  }
}
