import { runApp } from '@muster/platform';
import { SchedulerConfig } from './scheduler.config';
import { SchedulerModule } from './scheduler.module';

void runApp({ name: 'scheduler', configs: [SchedulerConfig], modules: [SchedulerModule] });
