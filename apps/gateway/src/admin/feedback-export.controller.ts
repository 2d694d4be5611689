import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, sessionsOf } from '@muster/access';
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
    summary: 'Submissions of all organizations as CSV, oldest first',
    description:
      'UTF-8 with a byte order mark, lines end with CRLF. Columns: id, type, status, organization, vm, title, ' +
      'description, reporter, createdAt, externalIssue, externalTask. A cell that a spreadsheet would run begins with an ' +
      'apostrophe. It comes as it is read; one that ends without its last chunk is not whole.',
    access: sessionsOf('super_admin'),
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
