import { isIP } from 'node:net';
import { AppError } from '@muster/contracts';
import { type BaseConfig, getOwnAddress } from '@muster/platform';

/** The host name that passkeys are bound to, and the origin of the pages that may use them (WebAuthn). */
export interface RelyingParty {
  id: string;
  origin: string;
}

/**
 * Derived from the configuration and never from the request, whose Host header the client chooses. An address of this
 * machine becomes `localhost`, because browsers create no passkeys for IP addresses.
 */
export function deriveRelyingParty(config: BaseConfig): RelyingParty {
  const address = new URL(getOwnAddress(config));
  if (!config.publicAppUrl || /^(127(\.\d+){3}|\[::1\])$/.test(address.hostname)) address.hostname = 'localhost';
  const { hostname: id, origin, protocol } = address;
  const isHere = id === 'localhost' || id.endsWith('.localhost');
  if (isIP(id.replace(/^\[|\]$/g, '')) || (protocol !== 'https:' && !isHere)) {
    throw new AppError('conflict', {
      detail: 'Passkeys need an https address with a host name: set PUBLIC_APP_URL to one.',
    });
  }
  return { id, origin };
}
