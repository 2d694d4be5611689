import { runApp } from '@muster/platform';
import { schedulerConfigs } from './scheduler-configs';
import { SchedulerModule } from './scheduler.module';

void runApp({ name: 'scheduler', configs: schedulerConfigs, modules: [SchedulerModule] });
