import { Body, Controller, Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  AccessRecheck,
  allowSessions,
  Caller,
  Endpoint,
  Mutation,
  MutationRequest,
  Mutations,
  type Principal,
} from '@muster/access';
import { AppError, ScreenEnd, ScreenFrame, ScreenInput, ScreenInputSent } from '@muster/contracts';
import { Database } from '@muster/database';
import { auditOpenScreen, auditScreenInput, ScreenRelay, watchScreen } from '@muster/jobs';
import { OpenStreams, PubSub, Relay } from '@muster/platform';
import { StreamRoom } from '@muster/timeline';
import { KeyRing } from '@muster/vault';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { openEventStream } from '../open-event-stream';

const watchers = allowSessions('runs.screens');

/** Shows people the browser of a run while it runs, and lets them use it while the run asks for that. */
@ApiTags('Jobs')
@Controller('/api/jobs/:id/screen')
export class ScreensController {
  private readonly screens: ScreenRelay;
  private readonly room = new StreamRoom({ maxStreams: 500, maxStreamsPerOrganization: 20 });

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(PubSub) private readonly pubSub: PubSub,
    @Inject(OpenStreams) private readonly streams: OpenStreams,
    @Inject(AccessRecheck) private readonly standing: AccessRecheck,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Relay) relay: Relay,
    @Inject(KeyRing) keyRing: KeyRing,
  ) {
    this.screens = new ScreenRelay(relay, keyRing);
  }

  @Get()
  @Endpoint({
    summary: 'Watch the browser of a run',
    description:
      'Sends server-sent events: `frame` with an image, at most 5 per second, and `end` when the run has ended. The ' +
      'worker sends images only while somebody watches and the page changes; they are never stored. A run without a ' +
      'browser sends none. Opening the stream is recorded in the audit log.',
    access: watchers,
    reads: 'screen',
    stream: [ScreenFrame, ScreenEnd],
    errors: ['not_found', 'conflict'],
  })
  async watch(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Caller() caller: Principal,
    @Param('id') jobId: string,
  ): Promise<void> {
    const { database, pubSub, streams, screens, room } = this;
    const { organizationId } = caller;
    room.requireFreeStreamSlot(organizationId);
    // The slot is taken before the first wait, so that requests at the same moment do not exceed the limit together.
    const leaveRoom = room.takeStreamSlot(organizationId);
    let isOpen = false;
    try {
      await database.transaction({ organizationId }, (tx) => auditOpenScreen(tx, caller, jobId));
      const access = this.standing.createAccessRecheck(request, watchers);
      const connection = openEventStream(request, reply, { comment: `screen of ${jobId}` });
      if (!connection) return;
      connection.once('close', leaveRoom);
      isOpen = true;
      watchScreen({ database, pubSub, streams, screens, access }, { organizationId, jobId }, connection);
    } finally {
      if (!isOpen) leaveRoom();
    }
  }

  @Post('input')
  @Endpoint({
    summary: 'Use the browser of a run that asks for it',
    description:
      'Possible while the run asks a question with `takeover` that the caller may answer. Every input is recorded in ' +
      'the audit log, without typed text.',
    access: allowSessions('runs.write'),
    body: ScreenInput,
    answer: ScreenInputSent,
    errors: ['not_found', 'conflict'],
  })
  async input(
    @Mutation() mutation: MutationRequest,
    @Param('id') jobId: string,
    @Body() input: ScreenInput,
  ): Promise<ScreenInputSent> {
    await this.mutations.runMutation(mutation, async (tx, caller) => {
      await auditScreenInput(tx, caller, { jobId, input });
      return { body: undefined };
    });
    if (await this.screens.sendInput(jobId, input).catch(() => false)) return { sent: true };
    throw new AppError('conflict', { detail: 'The browser of the run is not connected. Try again in a few seconds.' });
  }
}
