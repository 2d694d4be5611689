import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, allowSessions } from '@muster/access';
import { FeedbackExportQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { exportSubmissions } from '@muster/feedback';
import { Clock, OpenStreams } from '@muster/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { streamCsv } from '../stream-csv';

@ApiTags('Feedback')
@Controller('/api/admin/feedback')
export class FeedbackExportController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(OpenStreams) private readonly streams: OpenStreams,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get('/export')
  @Endpoint({
    summary: 'Export all organizations’ submissions as CSV',
    description:
      'Returns the oldest submission first, in UTF-8 with a byte order mark and CRLF line endings. Columns: id, ' +
      'type, status, organization, vm, title, description, reporter, createdAt, externalIssue, externalTask. A cell ' +
      'that a spreadsheet would run as a formula is prefixed with an apostrophe. The response is sent in chunks ' +
      'while it is read from the database. If the connection closes before the last chunk, the file is incomplete.',
    access: allowSessions('platform.admin'),
    mayLag: true,
    reads: 'feedback',
    csv: true,
    waits: true,
  })
  async export(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Query() filter: FeedbackExportQuery,
  ): Promise<void> {
    const filename = `feedback-${this.clock.now().toISOString().slice(0, 10)}.csv`;
    await streamCsv({ request, reply, streams: this.streams }, filename, exportSubmissions(this.database, filter));
  }
}
