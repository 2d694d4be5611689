import type { AddressInfo } from 'node:net';
import type { Settings } from '../settings';

/**
 * What the service is told to push to. Null: it can't reach us, and we fetch. A listener on loopback is within its reach
 * only where it is on our host, which its own address tells.
 */
export function tunnelOf(
  { tunnel, baseUrl }: Pick<Settings, 'tunnel' | 'baseUrl'>,
  { address, port, family }: AddressInfo,
): string | null {
  if (tunnel !== 'auto') return tunnel;
  const onOurHost = isLoopback(address) && isLoopback(new URL(baseUrl).hostname);
  return onOurHost ? `http://${family === 'IPv6' ? `[${address}]` : address}:${port}` : null;
}

function isLoopback(host: string): boolean {
  return /^(127(\.\d+){3}$|\[?::1\]?$|localhost\.?$|.*\.localhost\.?$)/.test(host);
}
