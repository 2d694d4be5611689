import { Body, Controller, Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Caller, Endpoint, type Principal, workers } from '@muster/access';
import { ScreenFrame, ScreenFrameTaken, ScreenInput, ScreenWatch } from '@muster/contracts';
import { Database } from '@muster/database';
import {
  FrameLimit,
  FrameLimits,
  requireRunOfWorker,
  ScreenRelay,
  serveScreenWorker,
  relayFrameToViewers,
} from '@muster/jobs';
import { OpenStreams, Relay } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { toReporter } from './to-reporter';

/** Connects the browser of a run with the people who watch it. */
@ApiTags('Callbacks')
@Controller('/api/jobs/:id/screen')
export class RunScreensController {
  private readonly screens: ScreenRelay;
  private readonly limits = new FrameLimits(() => new FrameLimit());

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(OpenStreams) private readonly streams: OpenStreams,
    @Inject(Relay) relay: Relay,
    @Inject(KeyRing) keyRing: KeyRing,
  ) {
    this.screens = new ScreenRelay(relay, keyRing);
  }

  @Get('control')
  @Endpoint({
    summary: 'Receive who watches the browser of a run, and their input',
    description:
      'Sends server-sent events to the worker: `watch` when somebody starts or nobody continues to watch, and `input` ' +
      'with what a person does while the run asks with `takeover`. The stream ends with the run.',
    access: workers,
    stream: [ScreenWatch, ScreenInput],
    errors: ['not_found', 'conflict'],
  })
  async control(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Caller() caller: Principal,
    @Param('id') jobId: string,
  ): Promise<void> {
    const { database, screens, streams } = this;
    const reporter = toReporter(caller);
    await requireRunOfWorker(database, reporter, jobId);
    reply.hijack();
    const connection = reply.raw;
    connection.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    });
    if (request.method === 'HEAD') return void connection.end();
    connection.write(': the screen\n\n');
    if (!connection.destroyed) serveScreenWorker({ database, screens, streams, reporter, jobId, connection });
  }

  @Post('frames')
  @Endpoint({
    summary: 'Send an image of the browser of a run',
    description:
      'The image is passed on to the people who watch, and is not stored. At most 5 images per second are accepted.',
    access: workers,
    body: ScreenFrame,
    answer: ScreenFrameTaken,
    errors: ['not_found', 'conflict', 'rate_limited'],
    bodyLimit: 512 * 1024,
  })
  async frame(
    @Caller() caller: Principal,
    @Param('id') jobId: string,
    @Body() frame: ScreenFrame,
  ): Promise<ScreenFrameTaken> {
    const { database, screens, limits } = this;
    const now = performance.now();
    return {
      watched: await relayFrameToViewers({ database, screens, limits }, toReporter(caller), { jobId, frame, now }),
    };
  }
}
