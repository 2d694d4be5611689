import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { concurrency, databaseUrl, poolSize, pushRun, type RunStatus, serveProgram } from './program';

// The minimal program with Muster's guarantees: an acknowledged run is pushed after a crash, never under another id,
// and a run whose end was acknowledged gets its cost. Each message is a row in the transaction that it belongs to, and
// is delivered by BullMQ. Requests are not authenticated.

const createConnection = () => new Redis(process.env['REDIS_URL']!, { maxRetriesPerRequest: null });
const pool = new Pool({ connectionString: databaseUrl, max: poolSize });
/**
 * Connections whose commits are not flushed to disk. If a crash loses such a commit, its message is processed again.
 */
const unflushed = new Pool({ connectionString: databaseUrl, max: 2, options: '-c synchronous_commit=off' });
const queue = new Queue<{ run: string }>('bare-durable', { connection: createConnection() });

type Step = 'launched' | 'ended';

void (async () => {
  await pool.query(
    `CREATE TABLE run (id uuid PRIMARY KEY, status text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
                       moved_at timestamptz NOT NULL DEFAULT now());
     CREATE TABLE message (run uuid, step text, PRIMARY KEY (run, step));
     CREATE TABLE cost (run uuid PRIMARY KEY, cents integer NOT NULL)`,
  );
  // Publishes the messages that a crash left; a new database has none.
  const left = await pool.query<{ run: string; step: Step }>(
    `SELECT run, step FROM message UNION ALL SELECT id, 'launched' FROM run WHERE status = 'given'`,
  );
  for (const { run, step } of left.rows) await publishStep(run, step);
  new Worker<{ run: string }>(
    queue.name,
    async ({ name, data: { run } }) => (name === 'launched' ? startRun(run) : insertCost(run)),
    { connection: createConnection(), concurrency },
  );
  await serveProgram({
    launch: async (id) => {
      const text = `WITH run AS (INSERT INTO run (id, status) VALUES ($1, 'queued'))
        INSERT INTO message VALUES ($1, 'launched')`;
      await pool.query({ name: 'launch', text, values: [id] });
      void publishStep(id, 'launched');
    },
    report: (id, status) => (status === 'running' ? markRunning(id) : markCompleted(id)),
    read: async (id) => {
      const found = { name: 'read', text: 'SELECT status FROM run WHERE id = $1', values: [id] };
      return (await pool.query<{ status: RunStatus }>(found)).rows[0]!.status;
    },
  });
})();

async function publishStep(run: string, step: Step): Promise<void> {
  await queue.add(step, { run }, { jobId: `${step}-${run}`, removeOnComplete: true, attempts: 5 });
}

async function startRun(id: string): Promise<void> {
  const text = `WITH delete_message AS (DELETE FROM message WHERE run = $1 AND step = 'launched')
    UPDATE run SET status = 'given', moved_at = now() WHERE id = $1 AND status IN ('queued', 'given')`;
  await pool.query({ name: 'start', text, values: [id] });
  await pushRun(id);
}

async function markRunning(id: string): Promise<void> {
  const text = `UPDATE run SET status = 'running', moved_at = now() WHERE id = $1 AND status = 'given'`;
  await pool.query({ name: 'begin', text, values: [id] });
}

async function markCompleted(id: string): Promise<void> {
  const text = `WITH over AS (
      UPDATE run SET status = 'completed', moved_at = now() WHERE id = $1 AND status = 'running' RETURNING id)
    INSERT INTO message SELECT id, 'ended' FROM over`;
  await pool.query({ name: 'end', text, values: [id] });
  void publishStep(id, 'ended');
}

async function insertCost(id: string): Promise<void> {
  const text = `WITH delete_message AS (DELETE FROM message WHERE run = $1 AND step = 'ended')
    INSERT INTO cost VALUES ($1, 1) ON CONFLICT DO NOTHING`;
  await unflushed.query({ name: 'book_cost', text, values: [id] });
}
