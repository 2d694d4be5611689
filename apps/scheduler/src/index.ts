export { SchedulerConfig } from './scheduler.config';
export { SchedulerModule } from './scheduler.module';
