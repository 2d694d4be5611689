import type { FastifyRequest } from 'fastify';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Who is counted for a request without credentials: the address that the trusted proxies name, or where they name none
 * that is one, the connection's own. Whoever has an IPv6 address has its whole /64, so that counts as one.
 */
export function clientAddress({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  return groupOf(ip) ?? groupOf(socket.remoteAddress) ?? 'unknown';
}

/** The whole address of whoever calls; null where no trusted proxy names one and the connection has none. */
export function exactAddress({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string | null {
  return [ip, socket.remoteAddress].map((text) => withoutPort(text ?? '')).find((text) => isIP(text)) ?? null;
}

function groupOf(text: string | undefined): string | null {
  const plain = withoutPort(text ?? '');
  // 1.2.3 is an address too to some; no proxy writes it so.
  if (!isIP(plain)) return null;
  const address = ipaddr.process(plain);
  if (address instanceof ipaddr.IPv4) return address.toString();
  return `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`;
}

/** Some proxies write the port behind the address. */
function withoutPort(text: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(text)?.[1] ?? text;
}
