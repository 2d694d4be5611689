import { Pool } from 'pg';
import {
  concurrency,
  databaseUrl,
  awaitReport,
  receiveReport,
  requirePeer,
  poolSize,
  pushRun,
  serveProgram,
} from './program';

// A run is a job whose task pushes the run and waits for its end. graphile-worker deletes finished jobs, so the read
// treats a missing job as completed.

interface Payload {
  id: string;
}

interface GraphileWorker {
  run(options: object): Promise<{ addJob(task: string, payload: Payload, spec: { jobKey: string }): Promise<unknown> }>;
  Logger: new (factory: () => () => void) => unknown;
}

const { run, Logger } = requirePeer('graphile-worker') as GraphileWorker;
const pool = new Pool({ connectionString: databaseUrl, max: poolSize });

// graphile-worker requires both listeners.
pool.on('error', (error) => console.error(error));
pool.on('connect', (client) => client.on('error', (error) => console.error(error)));

void (async () => {
  const runner = await run({
    pgPool: pool,
    concurrency,
    noHandleSignals: true,
    logger: new Logger(() => () => undefined),
    taskList: {
      run: async ({ id }: Payload) => {
        await pushRun(id);
        await awaitReport(id, 'running');
        await awaitReport(id, 'completed');
      },
    },
  });
  const text = 'SELECT locked_at FROM graphile_worker.jobs WHERE key = $1';
  await serveProgram({
    launch: async (id) => void (await runner.addJob('run', { id }, { jobKey: id })),
    report: receiveReport,
    read: async (id) => {
      const { rows } = await pool.query<{ locked_at: Date | null }>({ name: 'read', text, values: [id] });
      return rows.length === 0 ? 'completed' : rows[0]!.locked_at ? 'running' : 'queued';
    },
  });
})();
