import { AccessRecheck, Caller, Endpoint, type Principal, allowSessionsAndKeys } from '@muster/access';
import { findAgent, requireOwnAgent } from '@muster/machines';
import { findStreamStart, followSession, createImagePresigner } from '@muster/assistant';
import { AutopilotEventsQuery, SessionEvent } from '@muster/contracts';
import { Database } from '@muster/database';
import { OpenStreams, PubSub } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { getLastEventId } from '../last-event-id';
import { openEventStream } from '../open-event-stream';

const readers = allowSessionsAndKeys('agents.read');

@ApiTags('Assistant')
@Controller('/api/agents/:id/autopilot')
export class AutopilotEventsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(PubSub) private readonly pubSub: PubSub,
    @Inject(OpenStreams) private readonly streams: OpenStreams,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(AccessRecheck) private readonly standing: AccessRecheck,
  ) {}

  @Get('events')
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description:
      'Id of the last event that the client received. The stream resumes after it. If absent, it starts with the ' +
      'first event.',
    schema: { type: 'string', pattern: '^\\d{1,20}$' },
  })
  @Endpoint({
    summary: 'Stream an autopilot session’s events',
    reads: 'autopilot',
    description:
      'Sends server-sent events about the session’s states, steps and attempts. The ids of the events are numbered ' +
      'from 1 in each session. A comment is sent every 15 s.',
    access: readers,
    stream: [SessionEvent],
    errors: ['invalid_payload', 'agent_not_found', 'not_found'],
  })
  async events(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Query() { sessionId, lastEventId }: AutopilotEventsQuery,
  ): Promise<void> {
    requireOwnAgent(caller, agentId);
    const { organizationId } = caller;
    await findAgent(this.database, organizationId, agentId);
    const sessionRef = { organizationId, agentId, sessionId };
    const lastSeenId = getLastEventId(request) ?? lastEventId;
    const after = await findStreamStart(this.database, sessionRef, lastSeenId);
    const access = this.standing.createAccessRecheck(request, readers);
    const connection = openEventStream(request, reply, { comment: `session ${sessionId}` });
    if (!connection) return;
    const { database, pubSub, streams } = this;
    followSession({ database, pubSub, streams, presignImage: createImagePresigner(this.storage), access }, sessionRef, {
      connection,
      after,
    });
  }
}
