import { type MessageData, getQueueDefinition } from '@muster/contracts';
import { BaseConfig, loadConfig, RedisConnections } from '@muster/platform';
import { Queue, Worker } from 'bullmq';
import { Pool } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { answerQuestions, recordHandlerStart } from './outbox-load';

// The baseline of an equally durable message: a committed row, then BullMQ's add, and a worker that deletes the row
// when it is done. As in Muster the row is flushed to disk, and its deletion is not. No scope, no batches, no sweep.

const connections = new RedisConnections(loadConfig(BaseConfig, process.env));
const at = { prefix: connections.queuePrefix, skipVersionCheck: true };
const database = {
  connectionString: process.env['DATABASE_URL'],
  max: Number(process.env['DATABASE_POOL_SIZE']) / 2,
};
const rows = new Pool(database);
const unflushed = new Pool({ ...database, options: '-c synchronous_commit=off' });
const queue = new Queue<MessageData>('dispatch', { connection: connections.getPublisher(), ...at });
const worker = new Worker<MessageData>(
  'dispatch',
  async ({ data }) => {
    const id = data.payload['probeId'] as string;
    recordHandlerStart(id);
    await unflushed.query({ name: 'end', text: 'DELETE FROM bench_message WHERE id = $1', values: [id] });
  },
  {
    connection: connections.createBlockingConnection(),
    ...at,
    concurrency: getQueueDefinition('dispatch').concurrency,
    lockDuration: 30_000,
    stalledInterval: 15_000,
    maxStalledCount: 1_000_000,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  },
);

void (async () => {
  await rows.query('CREATE TABLE bench_message (id uuid PRIMARY KEY, payload jsonb NOT NULL)');
  await worker.waitUntilReady();
  answerQuestions({ send: addToQueue, drained: waitUntilDrained });
})();

async function addToQueue(id: string): Promise<void> {
  const payload = { probeId: id };
  const text = 'INSERT INTO bench_message (id, payload) VALUES ($1, $2)';
  await rows.query({ name: 'message', text, values: [id, JSON.stringify(payload)] });
  const data = { payload, organizationId: null, requestId: null, traceparent: null };
  await queue.add('probe', data, { jobId: id, removeOnComplete: true, removeOnFail: true });
}

async function waitUntilDrained(): Promise<void> {
  while ((await rows.query('SELECT FROM bench_message LIMIT 1')).rowCount) await delay(2);
}
