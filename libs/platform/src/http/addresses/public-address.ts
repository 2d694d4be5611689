import type { FastifyRequest } from 'fastify';
import type { BaseConfig } from '../../config/base.config';
import { getRequestContext } from '../../context/request-context';

const plainHost = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

/** Returns the address of the service that a request used; undefined if the address cannot be used in links. */
export function getRequestOrigin({ protocol, host }: FastifyRequest): string | undefined {
  return host && plainHost.test(host) ? `${protocol}://${host.toLowerCase()}` : undefined;
}

/** Returns the address of the service outside of requests: PUBLIC_APP_URL, or else an address of this machine. */
export function getOwnAddress({ publicAppUrl, host, port }: BaseConfig): string {
  if (publicAppUrl) return publicAppUrl.replace(/\/+$/, '');
  const local = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${local.includes(':') ? `[${local}]` : local}:${port}`;
}

/**
 * Returns the address at which the current caller reaches the service: PUBLIC_APP_URL, or else the address that its
 * request used.
 */
export function getPublicAddress(config: BaseConfig): string {
  return config.publicAppUrl ? getOwnAddress(config) : (getRequestContext()?.origin ?? getOwnAddress(config));
}

/** Like `getPublicAddress`, for a request whose context is not entered yet. */
export function getAddressForRequest(request: FastifyRequest, config: BaseConfig): string {
  return config.publicAppUrl ? getOwnAddress(config) : (getRequestOrigin(request) ?? getOwnAddress(config));
}
