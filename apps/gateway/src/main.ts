import { runApp } from '@muster/platform';
import { GatewayConfig } from './gateway.config';
import { GatewayModule } from './gateway.module';

void runApp({ name: 'gateway', configs: [GatewayConfig], modules: [GatewayModule] });
