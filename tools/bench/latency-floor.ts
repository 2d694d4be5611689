import { fastify } from 'fastify';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';

// A request adds a job to a queue, and its worker posts it to where it is to go. Nothing is written down.

const connection = () => new Redis(process.env['REDIS_URL']!, { maxRetriesPerRequest: null });
const queue = new Queue('floor', { connection: connection() });
const target = process.env['TARGET_URL']!;
const app = fastify();

void (async () => {
  new Worker(
    'floor',
    async (job) => {
      await fetch(`${target}/commands`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(job.data),
      });
    },
    { connection: connection() },
  );
  app.post('/launch', async () => {
    await queue.add('run', { commandId: 'floor' }, { removeOnComplete: true });
    return {};
  });
  process.send!({ url: await app.listen({ port: 0, host: '127.0.0.1' }) });
})();

process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
