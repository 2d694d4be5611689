import { once } from 'node:events';
import { Controller, Get, Inject, Logger, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, sessionsOf } from '@muster/access';
import { FeedbackExportQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { exportSubmissions } from '@muster/feedback';
import { Clock, OpenStreams } from '@muster/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';

@ApiTags('Feedback')
@Controller('/api/admin/feedback')
export class FeedbackExportController {
  private readonly logger = new Logger(FeedbackExportController.name);

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
    reply.hijack();
    const { raw } = reply;
    const day = this.clock.now().toISOString().slice(0, 10);
    raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="feedback-${day}.csv"`,
      'x-accel-buffering': 'no',
    });
    if (request.method === 'HEAD') return void raw.end();
    await this.streams.waiting(request.raw.socket, 'export', async (ended) => {
      try {
        for await (const piece of exportSubmissions(this.database, filter)) {
          if (ended.aborted) break;
          if (!raw.write(piece)) await once(raw, 'drain', { signal: ended });
        }
        if (ended.aborted) raw.destroy();
        else raw.end();
      } catch (error) {
        // The head is long gone: a file that breaks off is all that can still be said.
        raw.destroy();
        if (!ended.aborted) this.logger.error('an export broke off', { err: error });
      }
    });
  }
}
