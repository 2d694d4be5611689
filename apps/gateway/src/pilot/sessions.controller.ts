import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import { LibrarySessionDetail, LibrarySessionList, PilotBatchParams, SessionQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { findSession, listSessions } from '@muster/pilot';
import { parsePage, buildPage } from '@muster/platform';
import { presentSession, presentSessionEntry } from './present-session';

@ApiTags('Process library')
@Controller('/api/process-library/sessions')
export class SessionsController {
  constructor(@Inject(Database) private readonly database: Database) {}

  @Get()
  @Endpoint({
    summary: 'List sessions, latest first',
    description:
      'A session describes a batch that a practice reported, in one sentence. The session appears shortly after the ' +
      'report.',
    access: allowSessionsAndKeys('runs.read'),
    answer: LibrarySessionList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: SessionQuery): Promise<LibrarySessionList> {
    const page = parsePage(query, 'time', 'id');
    const rows = await listSessions(this.database, organizationId, { page, filter: query });
    const { items, nextCursor } = buildPage(rows, page, (row) => [row.occurredAt.toISOString(), row.pilotBatchId]);
    return { sessions: items.map(presentSession), nextCursor };
  }

  @Get(':batchId')
  @Endpoint({
    summary: 'Read a session with its timeline',
    reads: 'session',
    access: allowSessionsAndKeys('runs.read'),
    answer: LibrarySessionDetail,
    errors: ['invalid_payload', 'not_found'],
  })
  async read(
    @OrganizationId() organizationId: string,
    @Param() { batchId }: PilotBatchParams,
  ): Promise<LibrarySessionDetail> {
    const { session, timeline } = await findSession(this.database, organizationId, batchId);
    return { ...presentSession(session), timeline: timeline.map(presentSessionEntry) };
  }
}
