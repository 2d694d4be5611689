import type { FastifyRequest } from 'fastify';
import type { BaseConfig } from '../../config/base.config';
import { currentContext } from '../../context/request-context';

const plainHost = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

/** By which address of ours a request came; absent where it says none that could be used again. */
export function originOf({ protocol, host }: FastifyRequest): string | undefined {
  return host && plainHost.test(host) ? `${protocol}://${host.toLowerCase()}` : undefined;
}

/** Where the service is, for whom there is no request to tell it: as configured, else on this machine. */
export function ownAddress({ publicAppUrl, host, port }: BaseConfig): string {
  if (publicAppUrl) return publicAppUrl.replace(/\/+$/, '');
  const local = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${local.includes(':') ? `[${local}]` : local}:${port}`;
}

/** Where whoever asks at this moment reaches the service: PUBLIC_APP_URL, else as the request did. */
export function publicAddress(config: BaseConfig): string {
  return config.publicAppUrl ? ownAddress(config) : (currentContext()?.origin ?? ownAddress(config));
}

/** The same for a request in hand, before its context is entered. */
export function addressFor(request: FastifyRequest, config: BaseConfig): string {
  return config.publicAppUrl ? ownAddress(config) : (originOf(request) ?? ownAddress(config));
}
