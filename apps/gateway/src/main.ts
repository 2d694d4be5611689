import { runApp } from '@muster/platform';
import { gatewayConfigs } from './gateway-configs';
import { GatewayModule } from './gateway.module';

void runApp({ name: 'gateway', configs: gatewayConfigs, modules: [GatewayModule] });
