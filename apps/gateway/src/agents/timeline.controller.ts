import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { AccessRecheck, Caller, Endpoint, type Principal, allowSessionsAndKeys } from '@muster/access';
import { requireOwnAgent } from '@muster/machines';
import {
  findStoredRange,
  listTimeline,
  formatResyncFrame,
  TimelineHub,
  TimelineStream,
  decideStreamStart,
} from '@muster/timeline';
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
import { parsePage, buildPage } from '@muster/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { getLastEventId } from '../last-event-id';
import { openEventStream } from '../open-event-stream';
import { presentTimelineEntry } from './present-entry';

const readers = allowSessionsAndKeys('runs.read');

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
    const lastEventId = getLastEventId(request) ?? query.lastEventId;
    this.hub.requireFreeStream(organizationId);
    const range = await findStoredRange(this.database, organizationId, agentId);
    this.hub.requireFreeStream(organizationId);
    const { seq, resync } = decideStreamStart(lastEventId, range);
    const access = this.standing.createAccessRecheck(request, readers);

    const connection = openEventStream(request, reply, {
      comment: `the timeline of ${agentId}`,
      id: lastEventId === undefined ? seq : undefined,
      frames: resync && formatResyncFrame(resync),
    });
    if (connection)
      this.hub.addStream(new TimelineStream({ agentId, organizationId, seq, connection, access }), range.latest);
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
    const page = parsePage(query, 'bigint');
    const rows = await listTimeline(this.database, { organizationId, agentId }, query, page);
    const { items, nextCursor } = buildPage(rows, page, ({ seq }) => [String(seq)]);
    return { entries: items.map(presentTimelineEntry), nextCursor };
  }
}
