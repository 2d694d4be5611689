export { dispatcherConfigs } from './dispatcher.config';
export { DispatcherModule } from './dispatcher.module';
