export { gatewayConfigs } from './gateway-configs';
export { GatewayModule } from './gateway.module';
