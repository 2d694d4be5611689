import { SignInConfig } from '@muster/access';
import { FeedbackConfig } from '@muster/feedback';
import { ModelsConfig } from '@muster/models';
import type { BaseConfig } from '@muster/platform';
import { VmConfig } from '@muster/vm';
import { SmtpConfig } from '@muster/webhooks';
import { GatewayConfig } from './gateway.config';

/** The configuration that this process reads from its environment. */
export const gatewayConfigs: [typeof GatewayConfig, ...(new () => BaseConfig)[]] = [
  GatewayConfig,
  SignInConfig,
  VmConfig,
  FeedbackConfig,
  ModelsConfig,
  SmtpConfig,
];
