import { randomUUID } from 'node:crypto';
import { fastify } from 'fastify';
import { HttpClient } from './http-client';

export type RunStatus = 'queued' | 'running' | 'completed';

/** The operations that every compared program implements. */
export interface Program {
  /** Resolves when the push of the run is guaranteed. */
  launch(id: string): Promise<void>;
  report(id: string, status: RunStatus): Promise<void>;
  read(id: string): Promise<RunStatus>;
}

export const databaseUrl = process.env['DATABASE_URL']!;
export const poolSize = Number(process.env['DATABASE_POOL_SIZE']);
/** Maximum number of runs in flight. */
export const concurrency = Number(process.env['CONCURRENCY']);

/** Loads a peer's package, which is installed outside the repository. */
export function requirePeer(name: string): unknown {
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  return require(require.resolve(name, { paths: [process.env['PEERS_DIR']!] }));
}

/** Serves the same paths as Muster, so that all programs are measured with the same client and worker. */
export async function serveProgram(program: Program): Promise<void> {
  const app = fastify();
  app.post('/api/jobs/launch', async (_request, reply) => {
    const id = randomUUID();
    await program.launch(id);
    return reply.status(202).send({ jobId: id, status: 'queued' });
  });
  app.post('/api/job-webhook', async (request) => {
    const { jobId, status } = request.body as { jobId: string; status: RunStatus };
    await program.report(jobId, status);
    return { accepted: true };
  });
  app.get('/api/jobs/:id', async (request) => {
    const { id } = request.params as { id: string };
    return { id, status: await program.read(id) };
  });
  process.on('SIGTERM', () => process.exit(0));
  process.on('disconnect', () => process.exit(0));
  process.send!({ url: await app.listen({ port: 0, host: '127.0.0.1' }) });
}

const client = new HttpClient();

/** Resolves when the worker has the run. */
export async function pushRun(id: string): Promise<void> {
  await client.post(`${process.env['WORKER_URL']}/commands`, { commandId: id, jobId: id });
}

const reported = new Map<string, { promise: Promise<void>; resolve: () => void }>();

/** Waits for the worker's report, in programs that keep a run in memory. */
export function awaitReport(id: string, status: RunStatus): Promise<void> {
  return registerWaiter(id, status).promise.then(() => void reported.delete(`${id} ${status}`));
}

export async function receiveReport(id: string, status: RunStatus): Promise<void> {
  registerWaiter(id, status).resolve();
}

function registerWaiter(id: string, status: RunStatus) {
  const key = `${id} ${status}`;
  const known = reported.get(key);
  if (known) return known;
  let resolveWaiter = () => undefined as void;
  const promise = new Promise<void>((done) => (resolveWaiter = done));
  reported.set(key, { promise, resolve: resolveWaiter });
  return { promise, resolve: resolveWaiter };
}
