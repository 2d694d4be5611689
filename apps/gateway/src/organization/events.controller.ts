import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { AccessRecheck, allowSessionsAndKeys, Caller, Endpoint, type Principal, signedIn } from '@muster/access';
import {
  findEventStreamStart,
  EventHub,
  EventStream,
  formatEventResyncFrame,
  encodeEventCursor,
} from '@muster/timeline';
import {
  hasPermission,
  OrganizationAgentEvent,
  OrganizationBatchEvent,
  OrganizationDeadLetterEvent,
  OrganizationQuestionEvent,
  OrganizationAlertEvent,
  OrganizationEventsQuery,
  OrganizationJobEvent,
  OrganizationLimitEvent,
  OrganizationResyncEvent,
  OrganizationScheduleEvent,
  type Permission,
  type StreamEventType,
} from '@muster/contracts';
import { Database } from '@muster/database';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { openEventStream } from '../open-event-stream';

const readers = allowSessionsAndKeys(signedIn);

/** The permission that a caller needs to receive the events of a type. */
const permissionOfEvents: Record<StreamEventType, Permission> = {
  job: 'runs.read',
  batch: 'runs.read',
  question: 'runs.read',
  dead_letter: 'runs.read',
  agent: 'agents.read',
  schedule: 'schedules.read',
  limit: 'costs.read',
  alert: 'alerts.read',
};

/** Streams the events of an organization. */
@ApiTags('Events')
@Controller('/api/events')
export class EventsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(EventHub) private readonly hub: EventHub,
    @Inject(AccessRecheck) private readonly standing: AccessRecheck,
  ) {}

  @Get()
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description:
      'Id of the last event that was received; the stream resumes after it. Without it, the stream starts now.',
    schema: { type: 'string', maxLength: 4000 },
  })
  @Endpoint({
    summary: 'Stream the events of the organization',
    description:
      'Sends server-sent events about runs, agents, batches, schedules, questions, alerts, limits and dead letters. Use ' +
      'the id of an event only to resume the stream; its content has no other meaning. A comment is sent every 15 s, with ' +
      'a newer id if there is one. An id expires after seven days, or after the timeline retention of the ' +
      'organization if that is shorter. With an expired id, the stream sends a resync event and starts from now. ' +
      'Events of one agent arrive in order. A client that reads too slowly is disconnected, and can resume with its ' +
      'last id. The caller receives only events of resources that its permissions allow it to see.',
    access: readers,
    stream: [
      OrganizationJobEvent,
      OrganizationAgentEvent,
      OrganizationBatchEvent,
      OrganizationScheduleEvent,
      OrganizationLimitEvent,
      OrganizationDeadLetterEvent,
      OrganizationQuestionEvent,
      OrganizationAlertEvent,
      OrganizationResyncEvent,
    ],
    errors: ['invalid_payload'],
  })
  async events(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Caller() caller: Principal,
    @Query() query: OrganizationEventsQuery,
  ): Promise<void> {
    const { organizationId } = caller;
    const header = request.headers['last-event-id'];
    const lastEventId = (typeof header === 'string' && header !== '' ? header : undefined) ?? query.lastEventId;
    this.hub.requireFreeStream(organizationId);
    const { cursor, resync } = await findEventStreamStart(this.database, organizationId, lastEventId);
    this.hub.requireFreeStream(organizationId);
    const types = selectTypes(caller, query.types);
    const access = this.standing.createAccessRecheck(request, readers);

    const connection = openEventStream(request, reply, {
      comment: 'the organization',
      id: lastEventId === undefined ? encodeEventCursor(cursor) : undefined,
      frames: resync && formatEventResyncFrame(cursor, resync),
    });
    if (connection) this.hub.addStream(new EventStream({ organizationId, cursor, types, connection, access }));
  }
}

/** Returns the requested types that the caller may receive; null for all types. */
function selectTypes(caller: Principal, requested: string | undefined): Set<StreamEventType> | null {
  const all = Object.keys(permissionOfEvents) as StreamEventType[];
  const allowed = all.filter((type) => hasPermission(caller, permissionOfEvents[type]));
  if (requested === undefined && allowed.length === all.length) return null;
  const wanted = requested?.split(',');
  return new Set(allowed.filter((type) => wanted?.includes(type) ?? true));
}
