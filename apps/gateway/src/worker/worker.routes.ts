import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AppError } from '@muster/contracts';
import { getAddressForRequest } from '@muster/platform';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { GatewayConfig } from '../gateway.config';
import { renderInstallScript } from './install-script';

interface WorkerFile {
  content: Buffer;
  sha256: string;
}

/**
 * Serves the worker as one file, its hash and the install script, without authentication. They contain no secrets; the
 * worker's key decides what the worker may do.
 */
@Injectable()
export class WorkerRoutes implements OnModuleInit {
  private file: Promise<WorkerFile> | undefined;

  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(GatewayConfig) private readonly config: GatewayConfig,
  ) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    const own = { config: { guardsItself: true } };
    const sendFile = (reply: FastifyReply, type: string) => reply.header('cache-control', 'no-cache').type(type);
    fastify.get('/worker/muster-worker.js', own, async (_request, reply) =>
      sendFile(reply, 'text/javascript; charset=utf-8').send((await this.readCached()).content),
    );
    fastify.get('/worker/muster-worker.js.sha256', own, async (_request, reply) =>
      sendFile(reply, 'text/plain; charset=utf-8').send(`${(await this.readCached()).sha256}  muster-worker.js\n`),
    );
    fastify.get('/worker/install.sh', own, (request, reply) =>
      sendFile(reply, 'text/x-shellscript; charset=utf-8').send(
        renderInstallScript(getAddressForRequest(request, this.config)),
      ),
    );
  }

  private readCached(): Promise<WorkerFile> {
    this.file ??= readWorkerFile().catch((error: unknown) => {
      this.file = undefined;
      throw error;
    });
    return this.file;
  }
}

async function readWorkerFile(): Promise<WorkerFile> {
  // The worker's file is next to the compiled gateway, or in the build's output if the gateway runs from source.
  const folders = [join(__dirname, '../../../../worker'), join(__dirname, '../../../../dist/worker')];
  const path = folders.map((folder) => join(folder, 'muster-worker.js')).find((each) => existsSync(each));
  if (!path) {
    throw new AppError('not_found', {
      detail: 'The worker has not been built. Run node apps/worker/one-file.mjs, then repeat the request.',
    });
  }
  const content = await readFile(path);
  return { content, sha256: createHash('sha256').update(content).digest('hex') };
}
