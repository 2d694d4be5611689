import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startObjectStore, type ObjectStore, type ObjectStoreOptions } from './object-store';
import {
  ALGORITHM,
  buildCanonicalRequest,
  buildStringToSign,
  formatScope,
  signString,
  deriveSigningKey,
} from './wire/signature';
import { parseRequestTarget } from './wire/uri';

export const CREDENTIALS = { accessKeyId: 'MUSTERDEV', secretAccessKey: 'a secret only this test knows' };
export const BUCKET = 'artifacts';
export const OTHER_BUCKET = 'snapshots';

export interface Fixture {
  store: ObjectStore;
  dataDir: string;
  log: string[];
  createClient(config?: S3ClientConfig): S3Client;
  close(): Promise<void>;
}

/** Starts a real store on a free port and in a new folder. */
export async function startFixture(options: Partial<ObjectStoreOptions> = {}): Promise<Fixture> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'object-store-')));
  const log: string[] = [];
  const store = await startObjectStore({
    dataDir,
    buckets: [BUCKET, OTHER_BUCKET],
    credentials: CREDENTIALS,
    onLog: (line) => log.push(line),
    ...options,
  });
  const clients: S3Client[] = [];
  return {
    store,
    dataDir,
    log,
    createClient(config = {}) {
      const client = new S3Client({
        endpoint: store.endpoint,
        region: 'us-east-1',
        forcePathStyle: true,
        credentials: CREDENTIALS,
        maxAttempts: 1,
        // The same setting as in the service. Otherwise the SDK sends checksums, which the store does not accept.
        requestChecksumCalculation: 'WHEN_REQUIRED',
        logger: SILENT,
        ...config,
      });
      clients.push(client);
      return client;
    },
    async close() {
      for (const client of clients) client.destroy();
      await store.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** The tests provoke error responses, and the SDK would log a warning for each. */
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

export interface RawRequest {
  endpoint: string;
  method: string;
  /** Path that is sent unchanged; client libraries would normalize it. */
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

export interface RawResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  code?: string;
}

export function sendRawRequest({ endpoint, method, path, headers = {}, body }: RawRequest): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(endpoint);
    const request = httpRequest({ hostname, port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const code = /<Code>(\w+)<\/Code>/.exec(text)?.[1];
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text, code });
      });
    });
    request.on('error', reject);
    // Node sends no length for a DELETE, so the server would parse the body as the next request.
    if (body && !headers['transfer-encoding']) request.setHeader('content-length', Buffer.byteLength(body));
    request.end(body);
  });
}

export interface Signing {
  signedAt?: Date;
  region?: string;
  service?: string;
  scopeDate?: string;
  credentials?: { accessKeyId: string; secretAccessKey: string };
  payloadHash?: string;
  /** Headers that are sent but not signed. */
  unsigned?: string[];
}

/** Signs exactly the specified path; the SDK can sign only paths that it would send itself. */
export function signRawRequest(
  request: RawRequest,
  signing: Signing = {},
): RawRequest & { signature: string; key: Buffer } {
  const { signedAt = new Date(), credentials = CREDENTIALS, region = 'us-east-1', service = 's3' } = signing;
  const timestamp = signedAt.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const scope = { date: signing.scopeDate ?? timestamp.slice(0, 8), region, service };
  const payloadHash = signing.payloadHash ?? sha256Hex(request.body ?? '');
  const headers: Record<string, string> = {
    host: new URL(request.endpoint).host,
    'x-amz-date': timestamp,
    'x-amz-content-sha256': payloadHash,
    ...request.headers,
  };
  const signedHeaders = Object.keys(headers)
    .filter((name) => !signing.unsigned?.includes(name))
    .sort();
  const rawPath = request.path.split('?')[0] ?? '';
  const canonical = buildCanonicalRequest({
    method: request.method,
    rawPath,
    query: parseRequestTarget(request.path).query,
    headers: new Map(Object.entries(headers)),
    signedHeaders,
    payloadHash,
  });
  const key = deriveSigningKey(credentials.secretAccessKey, scope);
  const signature = signString(key, buildStringToSign({ timestamp, scope, canonicalRequest: canonical }));
  headers['authorization'] =
    `${ALGORITHM} Credential=${credentials.accessKeyId}/${formatScope(scope)}, SignedHeaders=${signedHeaders.join(';')}, Signature=${signature}`;
  return { ...request, headers, signature, key };
}

export function sha256Hex(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Lists every file below the folder by its relative path. */
export async function listFilesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .sort();
}

export async function waitUntil(condition: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('timed out waiting for the condition');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Returns the name and status of the error that the SDK throws. */
export async function captureRefusal(answer: Promise<unknown>): Promise<{ name: string; status: number }> {
  try {
    await answer;
  } catch (error) {
    const { name, $metadata } = error as { name: string; $metadata?: { httpStatusCode?: number } };
    return { name, status: $metadata?.httpStatusCode ?? 0 };
  }
  throw new Error('the request was not refused');
}
