import { runApp } from '@muster/platform';
import { meteringConfigs } from './metering-configs';
import { MeteringModule } from './metering.module';

void runApp({ name: 'metering', configs: meteringConfigs, modules: [MeteringModule] });
