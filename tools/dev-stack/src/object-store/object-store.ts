import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHandler } from './handler';
import { Store } from './storage/store';

export interface ObjectStoreOptions {
  dataDir: string;
  /** 0 chooses a free port. */
  port?: number;
  host?: string;
  region?: string;
  /** Buckets that are created if they do not exist. */
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

/** Starts a small S3 server with its files below `dataDir`. It is as strict as S3 in what it accepts. */
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

  const inProgress = new Set<Promise<void>>();
  const createRequestListener = (expectsContinue: boolean) => (incoming: IncomingMessage, response: ServerResponse) => {
    const handled = handle(incoming, response, expectsContinue).finally(() => inProgress.delete(handled));
    inProgress.add(handled);
  };
  // A whole request has no time limit, because large uploads take long. Only the time without data is limited.
  const server = createServer({ requestTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MS }, createRequestListener(false));
  server.setTimeout(IDLE_SOCKET_MS);
  server.on('checkContinue', createRequestListener(true));
  await listenOn(server, { port: options.port ?? 0, host });

  const { port } = server.address() as AddressInfo;
  let stopped: Promise<void> | undefined;
  return {
    endpoint: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    stop: () => (stopped ??= stopServer(server, inProgress)),
  };
}

const IDLE_SOCKET_MS = 5 * 60_000;
/**
 * Time for which a connection without a request stays open. With the default of Node.js, 5 s, a busy client may send an
 * upload on a connection that is being closed, and an upload is not repeated.
 */
const KEEP_ALIVE_MS = 72_000;
const STOP_GRACE_MS = 2_000;
const END_IDLE_EVERY_MS = 20;

function listenOn(server: Server, address: { port: number; host: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/**
 * Gives requests in progress a grace period to finish. Then their connections are closed and their temporary files are
 * removed.
 */
async function stopServer(server: Server, inProgress: ReadonlySet<Promise<void>>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection becomes idle after its last response, and would otherwise be kept open for seconds.
  const endIdle = setInterval(() => server.closeIdleConnections(), END_IDLE_EVERY_MS);
  const forced = setTimeout(() => server.closeAllConnections(), STOP_GRACE_MS);
  await closed;
  clearInterval(endIdle);
  clearTimeout(forced);
  await Promise.all(inProgress);
}
