import { Pool } from 'pg';
import { concurrency, databaseUrl, heard, hear, peer, poolSize, push, serve } from './program';

// A run is a job whose task pushes it and waits for its end. Of a job that is over nothing is kept: the read finds that
// it is gone.

interface Payload {
  id: string;
}

interface GraphileWorker {
  run(options: object): Promise<{ addJob(task: string, payload: Payload, spec: { jobKey: string }): Promise<unknown> }>;
  Logger: new (factory: () => () => void) => unknown;
}

const { run, Logger } = peer('graphile-worker') as GraphileWorker;
const pool = new Pool({ connectionString: databaseUrl, max: poolSize });

// It asks for both.
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
        await push(id);
        await heard(id, 'running');
        await heard(id, 'completed');
      },
    },
  });
  const text = 'SELECT locked_at FROM graphile_worker.jobs WHERE key = $1';
  await serve({
    launch: async (id) => void (await runner.addJob('run', { id }, { jobKey: id })),
    report: hear,
    read: async (id) => {
      const { rows } = await pool.query<{ locked_at: Date | null }>({ name: 'read', text, values: [id] });
      return rows.length === 0 ? 'completed' : rows[0]!.locked_at ? 'running' : 'queued';
    },
  });
})();
