import { getBoundAgent, Caller, Endpoint, type Principal, allowSessionsAndKeys } from '@muster/access';
import { requireOwnAgent } from '@muster/machines';
import {
  findSession,
  createImagePresigner,
  listSessions,
  presentSession,
  presentSessionSummary,
} from '@muster/assistant';
import { AutopilotSession, AutopilotSessionList, AutopilotSessionsQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { parsePage, buildPage } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';

/** The autopilot sessions of all agents of an organization. */
@ApiTags('Assistant')
@Controller('/api/autopilot-sessions')
export class AutopilotSessionsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List autopilot sessions, newest first',
    description:
      'Returns the sessions of all agents. A key that is bound to an agent gets the sessions of this agent only.',
    access: allowSessionsAndKeys('agents.read'),
    answer: AutopilotSessionList,
    errors: ['invalid_payload'],
  })
  async list(@Caller() caller: Principal, @Query() query: AutopilotSessionsQuery): Promise<AutopilotSessionList> {
    const own = getBoundAgent(caller);
    if (query.agentId) requireOwnAgent(caller, query.agentId);
    const page = parsePage(query, 'id');
    const filter = { ...query, agentId: own ?? query.agentId };
    const rows = await listSessions(this.database, caller.organizationId, { page, filter });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    const lend = createImagePresigner(this.storage);
    const now = this.database.now();
    return { sessions: await Promise.all(items.map((row) => presentSessionSummary(row, lend, now))), nextCursor };
  }

  @Get('/:id')
  @Endpoint({
    summary: 'Read an autopilot session',
    description: 'Returns the complete session with its task, steps and metrics.',
    reads: 'autopilot',
    access: allowSessionsAndKeys('agents.read'),
    answer: AutopilotSession,
    errors: ['invalid_payload', 'not_found'],
  })
  async read(@Caller() caller: Principal, @Param('id') sessionId: string): Promise<AutopilotSession> {
    const { organizationId } = caller;
    const found = await findSession(this.database, { organizationId, sessionId });
    requireOwnAgent(caller, found.session.agentId);
    return presentSession(found, createImagePresigner(this.storage), this.database.now());
  }
}
