import { randomBytes } from 'node:crypto';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AppError } from '@muster/contracts';
import { buildPagePolicy } from '@muster/platform';
import { getObjectOrigin, StorageConfig } from '@muster/storage';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ConsoleFiles } from './console-files';

const year = 'public, max-age=31536000, immutable';

/**
 * Serves the console at /app. It is not a controller, because it serves static files, and one page for all of the
 * console's paths, without authentication. The API decides what a user may see.
 */
@Injectable()
export class ConsoleRoutes implements OnModuleInit {
  private readonly pictures: string;

  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(ConsoleFiles) private readonly files: ConsoleFiles,
    @Inject(StorageConfig) storage: StorageConfig,
  ) {
    this.pictures = getObjectOrigin(storage);
  }

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    const own = { config: { guardsItself: true } };
    fastify.get('/app', own, (_request, reply) => this.sendPage(reply));
    fastify.get<{ Params: { '*': string } }>('/app/*', own, (request, reply) =>
      this.answerRequest(request.params['*'], request, reply),
    );
  }

  private async answerRequest(path: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const file = await this.files.findFile(path, request.headers['accept-encoding']);
    if (!file) {
      // A missing asset belongs to an older build. If the page were sent instead, browsers would run it as a script.
      if (path.startsWith('assets/'))
        throw new AppError('not_found', { detail: 'This path does not exist. Check the address.' });
      return this.sendPage(reply);
    }
    if (file.encoding) void reply.header('content-encoding', file.encoding);
    return reply
      .header('vary', 'accept-encoding')
      .header('cache-control', file.hashed ? year : 'no-cache')
      .type(file.type)
      .send(file.content);
  }

  private async sendPage(reply: FastifyReply): Promise<FastifyReply> {
    if (!this.files.areBuilt) {
      throw new AppError('not_found', {
        detail: 'The console has not been built. Run node tools/build/console.mjs, then reload the page.',
      });
    }
    const nonce = randomBytes(16).toString('base64');
    return reply
      .header('cache-control', 'no-cache')
      .header('content-security-policy', this.buildPolicy(nonce))
      .type('text/html; charset=utf-8')
      .send(await this.files.renderPage(nonce));
  }

  private buildPolicy(nonce: string): string {
    return buildPagePolicy(
      `style-src 'self' 'nonce-${nonce}'`,
      // Inline styles are allowed on elements, because libraries set them, for example the position of a menu.
      "style-src-attr 'unsafe-inline'",
      `img-src 'self' blob: ${this.pictures}`.trimEnd(),
      `connect-src 'self' ${this.pictures}`.trimEnd(),
    );
  }
}
