import { isIP } from 'node:net';
import { AppError } from '@muster/contracts';
import { type BaseConfig, ownAddress } from '@muster/platform';

/** Whom passkeys are made for: one name, and pages of one origin. */
export interface RelyingParty {
  id: string;
  origin: string;
}

/**
 * From what is configured, never from the request: whoever chooses a Host header would choose what passkeys hold for.
 * This machine is `localhost`, as browsers make no passkey for a bare address.
 */
export function relyingPartyOf(config: BaseConfig): RelyingParty {
  const address = new URL(ownAddress(config));
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
