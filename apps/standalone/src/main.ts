import { DispatcherModule } from '@muster/dispatcher';
import { FeedbackSyncModule } from '@muster/feedback-sync';
import { GatewayConfig, GatewayModule } from '@muster/gateway';
import { IngestModule } from '@muster/ingest';
import { MeteringModule } from '@muster/metering';
import { runApp } from '@muster/platform';
import { SchedulerConfig, SchedulerModule } from '@muster/scheduler';

void runApp({
  name: 'standalone',
  configs: [GatewayConfig, SchedulerConfig],
  modules: [GatewayModule, IngestModule, DispatcherModule, SchedulerModule, MeteringModule, FeedbackSyncModule],
});
