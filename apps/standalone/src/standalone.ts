import { dispatcherConfigs, DispatcherModule } from '@muster/dispatcher';
import { feedbackSyncConfigs, FeedbackSyncModule } from '@muster/feedback-sync';
import { gatewayConfigs, GatewayModule } from '@muster/gateway';
import { ingestConfigs, IngestModule } from '@muster/ingest';
import { meteringConfigs, MeteringModule } from '@muster/metering';
import { type RunOptions } from '@muster/platform';
import { schedulerConfigs, SchedulerModule } from '@muster/scheduler';

/** Runs all six apps in one process. */
export const standalone: Pick<RunOptions, 'name' | 'configs' | 'modules'> = {
  name: 'standalone',
  configs: [
    ...gatewayConfigs,
    ...ingestConfigs,
    ...schedulerConfigs,
    ...dispatcherConfigs,
    ...meteringConfigs,
    ...feedbackSyncConfigs,
  ],
  modules: [GatewayModule, IngestModule, DispatcherModule, SchedulerModule, MeteringModule, FeedbackSyncModule],
};
