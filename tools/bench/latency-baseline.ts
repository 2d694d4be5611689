import { fastify } from 'fastify';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'pg';

// The baseline of a launch's way to a machine, with as many durable commits as Muster: the request commits a row and
// adds to a queue, and the worker commits its decision before it posts.

const createConnection = () => new Redis(process.env['REDIS_URL']!, { maxRetriesPerRequest: null });
const queue = new Queue('baseline', { connection: createConnection() });
const targetUrl = process.env['TARGET_URL']!;
const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });
const app = fastify();

void (async () => {
  await pool.query('CREATE TABLE bench_run (id bigserial PRIMARY KEY, status text NOT NULL)');
  new Worker<{ id: string }>(
    'baseline',
    async ({ data: { id } }) => {
      const text = `UPDATE bench_run SET status = 'given' WHERE id = $1`;
      await pool.query({ name: 'give', text, values: [id] });
      await fetch(`${targetUrl}/commands`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ commandId: id }),
      });
    },
    { connection: createConnection() },
  );
  app.post('/launch', async () => {
    const text = `INSERT INTO bench_run (status) VALUES ('queued') RETURNING id`;
    const { rows } = await pool.query<{ id: string }>({ name: 'launch', text });
    await queue.add('run', { id: rows[0]!.id }, { removeOnComplete: true });
    return {};
  });
  process.send!({ url: await app.listen({ port: 0, host: '127.0.0.1' }) });
})();

process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
