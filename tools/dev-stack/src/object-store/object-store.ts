import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHandler } from './handler';
import { Store } from './storage/store';

export interface ObjectStoreOptions {
  dataDir: string;
  /** 0 chooses a free one. */
  port?: number;
  host?: string;
  region?: string;
  /** Made when they are missing. */
  buckets: string[];
  credentials: { accessKeyId: string; secretAccessKey: string };
  /** Exact origins of browser pages, such as `http://localhost:4200`. */
  corsOrigins?: string[];
  now?: () => Date;
  /** One line per refused or failed request. */
  onLog?: (line: string) => void;
}

export interface ObjectStore {
  endpoint: string;
  port: number;
  stop(): Promise<void>;
}

/** A small S3: as strict as the real one in what it accepts, with its files under `dataDir`. */
export async function startObjectStore(options: ObjectStoreOptions): Promise<ObjectStore> {
  const { host = '127.0.0.1', region = 'us-east-1', now = () => new Date(), onLog = () => {} } = options;
  const store = new Store(options.dataDir, onLog);
  for (const name of options.buckets) await store.createBucket(name);
  const handle = createHandler({
    store,
    credentials: options.credentials,
    region,
    corsOrigins: options.corsOrigins ?? [],
    now,
    onLog,
  });

  const underWay = new Set<Promise<void>>();
  const serve = (expectsContinue: boolean) => (incoming: IncomingMessage, response: ServerResponse) => {
    const handled = handle(incoming, response, expectsContinue).finally(() => underWay.delete(handled));
    underWay.add(handled);
  };
  // No limit on a whole request (a large upload takes its time), but one on silence.
  const server = createServer({ requestTimeout: 0 }, serve(false));
  server.setTimeout(IDLE_SOCKET_MS);
  server.on('checkContinue', serve(true));
  await listen(server, { port: options.port ?? 0, host });

  const { port } = server.address() as AddressInfo;
  let stopped: Promise<void> | undefined;
  return {
    endpoint: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    stop: () => (stopped ??= stopServer(server, underWay)),
  };
}

const IDLE_SOCKET_MS = 5 * 60_000;
const STOP_GRACE_MS = 2_000;
const END_IDLE_EVERY_MS = 20;

function listen(server: Server, address: { port: number; host: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Requests under way may finish within the grace; then their connections are cut and their temp files removed. */
async function stopServer(server: Server, underWay: ReadonlySet<Promise<void>>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection whose last answer has just gone out is idle only now, and would be kept alive for seconds.
  const endIdle = setInterval(() => server.closeIdleConnections(), END_IDLE_EVERY_MS);
  const cut = setTimeout(() => server.closeAllConnections(), STOP_GRACE_MS);
  await closed;
  clearInterval(endIdle);
  clearTimeout(cut);
  await Promise.all(underWay);
}
