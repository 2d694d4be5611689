import { GatewayConfig } from './gateway.config';
import { GatewayModule } from './gateway.module';

/** What the specs of this app start. */
export const gateway = {
  name: 'gateway' as const,
  configs: [GatewayConfig] as [typeof GatewayConfig],
  modules: [GatewayModule],
};
