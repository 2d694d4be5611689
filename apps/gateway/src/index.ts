export { gatewayConfigs } from './gateway-configs';
export { GatewayConfig } from './gateway.config';
export { GatewayModule } from './gateway.module';
