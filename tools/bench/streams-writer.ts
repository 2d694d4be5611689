import { appendTimeline } from '@muster/timeline';
import { Database, DatabaseModule } from '@muster/database';
import { BaseConfig, createApp, loadConfig } from '@muster/platform';
import { answerLoadRequests } from './streams-load';

// A process that writes to timelines, as ingest does. Redis notifies the gateway.

void (async () => {
  const { nest } = await createApp({
    name: 'gateway',
    configs: [loadConfig(BaseConfig, process.env)],
    modules: [DatabaseModule],
  });
  await nest.init();
  const database = nest.get(Database);
  const organizationId = process.env['BENCH_ORGANIZATION']!;
  answerLoadRequests((agentId, messages) =>
    database.transaction({ organizationId }, async (tx) =>
      appendTimeline(
        tx,
        { organizationId, agentId },
        messages.map((message) => ({ kind: 'execution', message })),
      ),
    ),
  );
  process.send!({});
})();
