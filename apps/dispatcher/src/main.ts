import { runApp } from '@muster/platform';
import { dispatcherConfigs } from './dispatcher.config';
import { DispatcherModule } from './dispatcher.module';

void runApp({ name: 'dispatcher', configs: dispatcherConfigs, modules: [DispatcherModule] });
