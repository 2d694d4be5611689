import { BaseConfig, runApp } from '@muster/platform';
import { DispatcherModule } from './dispatcher.module';

void runApp({ name: 'dispatcher', configs: [BaseConfig], modules: [DispatcherModule] });
