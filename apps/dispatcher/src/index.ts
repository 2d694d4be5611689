export { DispatcherModule } from './dispatcher.module';
