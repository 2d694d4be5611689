import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { AccessRecheck, Caller, Endpoint, type Principal, sessionsAndKeysOf } from '@muster/access';
import { requireOwnAgent } from '@muster/machines';
import { findTimeline, listTimeline, resyncFrame, TimelineHub, TimelineStream, whereToBegin } from '@muster/timeline';
import {
  AgentEventsQuery,
  AgentJobEvent,
  AgentLifecycleEvent,
  AgentLogEvent,
  AgentLogList,
  AgentLogsQuery,
  AgentResyncEvent,
  AgentStatusEvent,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { pageOf, paginate } from '@muster/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { lastEventIdOf } from '../last-event-id';
import { openStream } from '../open-stream';
import { presentEntry } from './present-entry';

const readers = sessionsAndKeysOf('viewer');

@ApiTags('Agents')
@Controller('/api/agents/:id')
export class TimelineController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(TimelineHub) private readonly hub: TimelineHub,
    @Inject(AccessRecheck) private readonly standing: AccessRecheck,
  ) {}

  @Get('events')
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description:
      'Id of the last event that the client received. The stream resumes after it. If absent, it starts now.',
    schema: { type: 'string', pattern: '^\\d{1,20}$' },
  })
  @Endpoint({
    summary: 'Stream an agent’s events',
    reads: 'log',
    description:
      'Sends server-sent events about lifecycle, status, log and job changes. The id of an event is its number in ' +
      'the agent’s timeline. A comment is sent every 15 s. If the requested id is no longer stored or was never ' +
      'assigned, the stream sends a `resync` event and continues from now. Read the missing entries from the logs. ' +
      'A client that falls far behind is disconnected and can resume with its last id.',
    access: readers,
    stream: [AgentLifecycleEvent, AgentStatusEvent, AgentLogEvent, AgentJobEvent, AgentResyncEvent],
    errors: ['invalid_payload', 'agent_not_found'],
  })
  async events(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Query() query: AgentEventsQuery,
  ): Promise<void> {
    requireOwnAgent(caller, agentId);
    const { organizationId } = caller;
    const lastEventId = lastEventIdOf(request) ?? query.lastEventId;
    this.hub.requireRoom(organizationId);
    const range = await findTimeline(this.database, organizationId, agentId);
    this.hub.requireRoom(organizationId);
    const { seq, resync } = whereToBegin(lastEventId, range);
    const access = this.standing.forRequest(request, readers);

    const connection = openStream(request, reply, {
      comment: `the timeline of ${agentId}`,
      id: lastEventId === undefined ? seq : undefined,
      frames: resync && resyncFrame(resync),
    });
    if (connection)
      this.hub.add(new TimelineStream({ agentId, organizationId, seq, connection, access }), range.latest);
  }

  @Get('logs')
  @Endpoint({
    summary: 'Read an agent’s timeline',
    description: 'Returns lifecycle, status and job entries, provisioning logs and execution logs.',
    reads: 'log',
    access: readers,
    answer: AgentLogList,
    errors: ['invalid_payload', 'agent_not_found'],
  })
  async logs(
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Query() query: AgentLogsQuery,
  ): Promise<AgentLogList> {
    requireOwnAgent(caller, agentId);
    const { organizationId } = caller;
    const page = pageOf(query, 'bigint');
    const rows = await listTimeline(this.database, { organizationId, agentId }, query, page);
    const { items, nextCursor } = paginate(rows, page, ({ seq }) => [String(seq)]);
    return { entries: items.map(presentEntry), nextCursor };
  }
}
