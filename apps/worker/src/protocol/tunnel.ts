import type { AddressInfo } from 'node:net';
import type { Settings } from '../settings';

/**
 * Returns the URL to which the service can push commands; null if it cannot reach this worker, which then only polls.
 * The service can reach a loopback listener only on the same host, which it is if its own URL is a loopback URL.
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
