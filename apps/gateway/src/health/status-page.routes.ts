import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AccessRecheck } from '@muster/access';
import { AppError } from '@muster/contracts';
import { Clock } from '@muster/platform';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayConfig } from '../gateway.config';
import { renderStatusPage, statusStylesHash } from './render-status-page';
import { ServiceStatus } from './service-status';

const policy = [
  "default-src 'none'",
  `style-src ${statusStylesHash}`,
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/**
 * Serves the status page: HTML without scripts, which can be read while little else works. It is not a controller,
 * because the deployment decides who may read it, and it has no rate limit, like the probes: its content is cached.
 */
@Injectable()
export class StatusPageRoutes implements OnModuleInit {
  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(ServiceStatus) private readonly status: ServiceStatus,
    @Inject(AccessRecheck) private readonly access: AccessRecheck,
    @Inject(GatewayConfig) private readonly config: GatewayConfig,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.get('/status', { config: { guardsItself: true } }, (request, reply) => this.sendPage(request, reply));
  }

  private async sendPage(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { statusPage } = this.config;
    if (statusPage === 'off')
      throw new AppError('not_found', { detail: 'This path does not exist. Check the address.' });
    if (statusPage === 'signed-in' && !(await this.access.hasValidCredential(request)))
      throw new AppError('unauthenticated', { detail: 'Sign in at /app, then open this page again.' });
    const status = await this.status.read();
    const isDatabaseDown = status.parts.some((part) => part.name === 'Database' && part.status === 'fails');
    return reply
      .status(isDatabaseDown ? 503 : 200)
      .header('cache-control', 'no-store')
      .header('content-security-policy', policy)
      .type('text/html; charset=utf-8')
      .send(renderStatusPage(status, this.clock.now()));
  }
}
