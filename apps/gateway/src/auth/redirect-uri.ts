import { type BaseConfig, getPublicAddress } from '@muster/platform';

/** Returns the address to which identity providers send the browser back. It must be registered at the provider. */
export function getRedirectUri(config: BaseConfig): string {
  return `${getPublicAddress(config)}/api/auth/sso/callback`;
}
