import { gatewayConfigs } from './gateway-configs';
import { GatewayModule } from './gateway.module';

/** The app that the specs start. */
export const gateway = { name: 'gateway' as const, configs: gatewayConfigs, modules: [GatewayModule] };
