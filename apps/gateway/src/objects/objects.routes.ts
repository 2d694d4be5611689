import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { BaseConfig, getClientAddress, buildRateHeaders, RateLimiter } from '@muster/platform';
import { objectProxyPath, StorageConfig } from '@muster/storage';
import type { FastifyInstance } from 'fastify';
import { ObjectPassage, buildPreflightHeaders } from './object-passage';

/**
 * Serves objects below the service's own address, for an object store that only the service can reach. These routes are
 * not a controller, because bodies of any type and size are streamed without a parser. Their URLs are presigned by the
 * storage client, so they do not appear in the OpenAPI document.
 */
@Injectable()
export class ObjectsRoutes implements OnModuleInit, OnApplicationShutdown {
  private passage?: ObjectPassage;

  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(StorageConfig) private readonly storage: StorageConfig,
    @Inject(BaseConfig) private readonly config: BaseConfig,
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
  ) {}

  onModuleInit(): void {
    const { s3ThroughService, s3Endpoint } = this.storage;
    if (!s3ThroughService || !s3Endpoint) return;
    const passage = new ObjectPassage(new URL(s3Endpoint));
    this.passage = passage;
    const policy = { name: 'anonymous', limit: this.config.rateLimitAnonymousPerMinute, windowSeconds: 60 };
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    void fastify.register((scope, _options, done) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
      scope.route({
        method: ['GET', 'HEAD', 'PUT'],
        url: `${objectProxyPath}/*`,
        config: { noTimeout: true, guardsItself: true },
        handler: async (request, reply) => {
          const subject = `address:${getClientAddress(request)}`;
          const state =
            this.limiter.countLeasedRequest(policy, subject) ?? (await this.limiter.countRequest(policy, subject));
          void reply.headers(buildRateHeaders(state));
          await passage.forwardToStore(request, reply);
        },
      });
      const own = { config: { guardsItself: true } };
      scope.options(`${objectProxyPath}/*`, own, (request, reply) =>
        reply.code(204).headers(buildPreflightHeaders(request)).send(),
      );
      done();
    });
  }

  onApplicationShutdown(): void {
    this.passage?.close();
  }
}
