import { gatewayConfigs } from './gateway-configs';
import { GatewayModule } from './gateway.module';

/** What the specs of this app start. */
export const gateway = { name: 'gateway' as const, configs: gatewayConfigs, modules: [GatewayModule] };
