import type { FastifyRequest } from 'fastify';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Returns the address under which a request without credentials is counted: the address that the trusted proxies
 * report, or the connection's own if they report no valid one. An IPv6 address counts as its /64, because its owner
 * usually has the whole /64.
 */
export function getClientAddress({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  return toCountedAddress(ip) ?? toCountedAddress(socket.remoteAddress) ?? 'unknown';
}

/** Returns the exact address of the caller; null if no trusted proxy reports one and the connection has none. */
export function getExactAddress({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string | null {
  return [ip, socket.remoteAddress].map((text) => removePort(text ?? '')).find((text) => isIP(text)) ?? null;
}

function toCountedAddress(text: string | undefined): string | null {
  const plain = removePort(text ?? '');
  // Addresses with fewer than four parts, such as 1.2.3, are refused, although some parsers accept them: no proxy sends
  // such an address.
  if (!isIP(plain)) return null;
  const address = ipaddr.process(plain);
  if (address instanceof ipaddr.IPv4) return address.toString();
  return `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`;
}

/** The port is removed, because some proxies append it to the address. */
function removePort(text: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(text)?.[1] ?? text;
}
