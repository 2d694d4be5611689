import type { AddressInfo } from 'node:net';
import type { Settings } from '../settings';

/**
 * Returns the URL to which the service can push commands. Null if the service cannot reach this worker, which then only
 * polls. The service can reach a loopback listener only if it runs on this host, which is assumed if the service's URL
 * is a loopback URL.
 */
export function findPushUrl(
  { tunnel, baseUrl }: Pick<Settings, 'tunnel' | 'baseUrl'>,
  { address, port, family }: AddressInfo,
): string | null {
  if (tunnel !== 'auto') return tunnel;
  const onOurHost = isLoopbackHost(address) && isLoopbackHost(new URL(baseUrl).hostname);
  return onOurHost ? `http://${family === 'IPv6' ? `[${address}]` : address}:${port}` : null;
}

function isLoopbackHost(host: string): boolean {
  return /^(127(\.\d+){3}$|\[?::1\]?$|localhost\.?$|.*\.localhost\.?$)/.test(host);
}
