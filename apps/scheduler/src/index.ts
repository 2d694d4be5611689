export { schedulerConfigs } from './scheduler-configs';
export { SchedulerModule } from './scheduler.module';
