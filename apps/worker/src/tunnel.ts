import type { AddressInfo } from 'node:net';
import type { Settings } from './settings';

/** What the service is told to push to. Null: it can't reach us, and we fetch. */
export function tunnelOf(setting: Settings['tunnel'], { address, port, family }: AddressInfo): string | null {
  if (setting !== 'auto') return setting;
  const isLoopback = address === '::1' || address.startsWith('127.');
  return isLoopback ? `http://${family === 'IPv6' ? `[${address}]` : address}:${port}` : null;
}
