import { BaseConfig, runApp } from '@muster/platform';
import { MeteringModule } from './metering.module';

void runApp({ name: 'metering', configs: [BaseConfig], modules: [MeteringModule] });
