import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { Endpoint, OrganizationId, sessionsAndKeysOf, StandingAccess } from '@muster/access';
import { beginEvents, EventHub, EventStream, resyncFrameOf, writePlace } from '@muster/timeline';
import {
  OrganizationAgentEvent,
  OrganizationBatchEvent,
  OrganizationDeadLetterEvent,
  OrganizationQuestionEvent,
  OrganizationEventsQuery,
  OrganizationJobEvent,
  OrganizationLimitEvent,
  OrganizationResyncEvent,
  OrganizationScheduleEvent,
  type StreamEventType,
} from '@muster/contracts';
import { Database } from '@muster/database';
import type { FastifyReply, FastifyRequest } from 'fastify';

const readers = sessionsAndKeysOf('viewer');

/** What happens in an organization, as it happens. */
@ApiTags('Events')
@Controller('/api/events')
export class EventsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(EventHub) private readonly hub: EventHub,
    @Inject(StandingAccess) private readonly standing: StandingAccess,
  ) {}

  @Get()
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'The last id that was seen: the stream goes on after it. Without one it begins now.',
    schema: { type: 'string', maxLength: 4000 },
  })
  @Endpoint({
    summary: 'Follow the organization: runs, agents, batches, schedules, limits and messages that were given up',
    description:
      'Server-sent events. Their ids are for coming back with, and say nothing else. A comment comes every 15 s, with a ' +
      'newer id where there is one. After seven days, or when the organization keeps its timeline for less, an id is too ' +
      'old: a resync event says so and the stream goes on from now. Events of one agent come in their order. A reader ' +
      'that falls far behind is disconnected, and resumes with its last id.',
    access: readers,
    stream: [
      OrganizationJobEvent,
      OrganizationAgentEvent,
      OrganizationBatchEvent,
      OrganizationScheduleEvent,
      OrganizationLimitEvent,
      OrganizationDeadLetterEvent,
      OrganizationQuestionEvent,
      OrganizationResyncEvent,
    ],
    errors: ['invalid_payload'],
  })
  async events(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @OrganizationId() organizationId: string,
    @Query() query: OrganizationEventsQuery,
  ): Promise<void> {
    const header = request.headers['last-event-id'];
    const lastEventId = (typeof header === 'string' && header !== '' ? header : undefined) ?? query.lastEventId;
    this.hub.requireRoom(organizationId);
    const { place, resync } = await beginEvents(this.database, organizationId, lastEventId);
    this.hub.requireRoom(organizationId);
    const types = query.types ? new Set(query.types.split(',') as StreamEventType[]) : null;
    const access = this.standing.of(request, readers);

    reply.hijack();
    const connection = reply.raw;
    connection.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    });
    if (request.method === 'HEAD') return void connection.end();
    // An id of its own lets a reader resume that lost its connection before the first event.
    const beginning = lastEventId === undefined ? `id: ${writePlace(place)}\n` : '';
    const said = resync ? resyncFrameOf(place, resync) : '';
    connection.write(`: the organization\nretry: 2000\n${beginning}\n${said}`);
    if (connection.destroyed) return;
    this.hub.add(new EventStream({ organizationId, place, types, connection, access }));
  }
}
