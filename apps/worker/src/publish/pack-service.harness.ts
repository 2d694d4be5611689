import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

type JsonObject = Record<string, any>;

/** A fake of the service's steps of publishing, and of a store that accepts one object for each signed URL. */
export class PackService {
  readonly packId = randomUUID();
  url = '';
  head: string | null = null;
  readonly key = 'msk_author_0123456789abcdef';
  readonly faults: string[] = [];
  readonly published: { zip: Buffer; files: JsonObject[]; base: string | null }[] = [];
  /** Answers to the next request of a step, instead of the regular answer. */
  instead: { step: 'upload' | 'put' | 'finalize'; status: number; body?: object }[] = [];
  private readonly uploads = new Map<string, Buffer>();
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const path = request.url!;
        const [status, body] = this.answerRequest(
          path,
          Buffer.concat(pieces),
          request.headers as Record<string, string>,
        );
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
    });
  }

  static async start(): Promise<PackService> {
    const service = new PackService();
    service.server.listen(0, '127.0.0.1');
    await once(service.server, 'listening');
    service.url = `http://127.0.0.1:${(service.server.address() as AddressInfo).port}`;
    return service;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private answerRequest(path: string, bytes: Buffer, headers: Record<string, string>): [number, object] {
    const step = path.startsWith('/store/') ? 'put' : path.endsWith('/upload') ? 'upload' : 'finalize';
    const at = this.instead.findIndex((each) => each.step === step);
    if (at !== -1) {
      const [{ status, body }] = this.instead.splice(at, 1) as [(typeof this.instead)[number]];
      return [status, body ?? {}];
    }
    if (step === 'put') {
      if (headers['x-api-key']) this.faults.push('the store was sent the key');
      if (headers['content-type'] !== 'application/zip') return [403, {}];
      this.uploads.set(path.slice('/store/'.length), bytes);
      return [200, {}];
    }
    if (headers['x-api-key'] !== this.key) return [401, { code: 'unauthenticated', detail: 'The key is not known.' }];
    if (!path.startsWith(`/api/workflow-packs/${this.packId}/publish-from-vm/`)) return [404, { code: 'not_found' }];
    const body = JSON.parse(bytes.toString()) as JsonObject;
    if (step === 'upload') {
      const uploadKey = randomUUID();
      // The upload URL is a path below the service's URL, as for a store behind the service.
      const sent = { 'content-type': body.contentType as string };
      return [201, { uploadUrl: `/store/${uploadKey}`, uploadKey, method: 'PUT', headers: sent }];
    }
    return this.finalizeUpload(body);
  }

  private finalizeUpload({ uploadKey, baseRuntimeBundleId: base, files }: JsonObject): [number, object] {
    const zip = this.uploads.get(uploadKey as string);
    if (!zip) return [409, { code: 'upload_missing' }];
    if (base !== this.head) {
      const found = { baseRuntimeBundleId: base, currentRuntimeBundleId: this.head };
      return [409, { code: 'draft_head_conflict', detail: 'The draft has changed.', ...found }];
    }
    this.head = randomUUID();
    this.published.push({ zip, files: files as JsonObject[], base: base as string | null });
    return [201, { runtimeBundleId: this.head, digest: `sha256:${createHash('sha256').update(zip).digest('hex')}` }];
  }
}
