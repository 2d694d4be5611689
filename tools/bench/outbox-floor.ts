import { type MessageData, queueDefinition } from '@muster/contracts';
import { BaseConfig, loadConfig, RedisConnections } from '@muster/platform';
import { Queue, Worker } from 'bullmq';
import { answerQuestions, handlerStarted } from './outbox-load';

// BullMQ alone, on connections and with options like ours: a message may get lost between a commit and its add.

const connections = new RedisConnections(loadConfig(BaseConfig, process.env));
const at = { prefix: connections.queuePrefix, skipVersionCheck: true };
const queue = new Queue<MessageData>('dispatch', { connection: connections.publisher(), ...at });
const worker = new Worker<MessageData>(
  'dispatch',
  async ({ data }) => handlerStarted(data.payload['probeId'] as string),
  {
    connection: connections.blocking(),
    ...at,
    concurrency: queueDefinition('dispatch').concurrency,
    lockDuration: 30_000,
    stalledInterval: 15_000,
    maxStalledCount: 1_000_000,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  },
);

void worker.waitUntilReady().then(() =>
  answerQuestions({
    send: async (id) => {
      const data = { payload: { probeId: id }, organizationId: null, requestId: null, traceparent: null };
      await queue.add('probe', data, { jobId: id, removeOnComplete: true, removeOnFail: true });
    },
    settled: async () => undefined,
  }),
);
