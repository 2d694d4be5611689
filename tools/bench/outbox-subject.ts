import { type ProbePayload, getQueueDefinition } from '@muster/contracts';
import { Database, DatabaseModule } from '@muster/database';
import { BaseConfig, createApp, HandlesJob, loadConfig, ProcessesQueue, QueueProcessor } from '@muster/platform';
import { setTimeout as delay } from 'node:timers/promises';
import { answerQuestions, recordHandlerStart } from './outbox-load';

// Muster's complete message path: a transaction with a message, the relay, BullMQ, a processor, the ledger.

@ProcessesQueue('dispatch')
class BenchProcessor extends QueueProcessor {
  @HandlesJob('dispatch', 'probe')
  async handleProbe({ probeId }: ProbePayload): Promise<void> {
    recordHandlerStart(probeId);
  }

  async ignoreJob(): Promise<void> {
    throw new Error('this benchmark does not enqueue this message');
  }
}

@ProcessesQueue('autopilot')
class OtherProcessor extends QueueProcessor {
  async ignoreJob(): Promise<void> {
    throw new Error('this benchmark does not enqueue this message');
  }
}

// An app starts only if it has a handler for every job of its queues.
for (const [queue, { prototype }] of [['dispatch', BenchProcessor] as const, ['autopilot', OtherProcessor] as const]) {
  for (const job of Object.keys(getQueueDefinition(queue).jobs)) {
    if (queue === 'dispatch' && job === 'probe') continue;
    HandlesJob(queue, job as 'probe')(prototype, 'other', { value: prototype.ignoreJob });
  }
}

class BenchModule {}

void (async () => {
  const { nest } = await createApp({
    name: 'dispatcher',
    configs: [loadConfig(BaseConfig, process.env)],
    modules: [DatabaseModule, { module: BenchModule, providers: [BenchProcessor, OtherProcessor] }],
  });
  await nest.init();
  const database = nest.get(Database);
  answerQuestions({
    send: (id) =>
      database.transaction('system', (tx) =>
        tx.enqueue({ queue: 'dispatch', name: 'probe', payload: { probeId: id } }),
      ),
    drained: () => waitUntilDrained(database),
  });
})();

/** This program runs no sweep, so a message whose row remains was lost. */
async function waitUntilDrained(database: Database): Promise<void> {
  for (let attempt = 0; attempt < 5000; attempt += 1) {
    const left = await database.query('system', 'SELECT FROM outbox LIMIT 1', [], 'outbox_any');
    if (left.length === 0) return;
    await delay(2);
  }
  throw new Error('messages remain in the outbox table');
}
