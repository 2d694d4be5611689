import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import { JobsExportQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { exportJobs } from '@muster/jobs';
import { Clock, OpenStreams } from '@muster/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { streamCsv } from '../stream-csv';

@ApiTags('Jobs')
@Controller('/api/jobs')
export class JobsExportController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(OpenStreams) private readonly streams: OpenStreams,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get('/export')
  @Endpoint({
    summary: 'Export jobs as CSV',
    description:
      'Takes the filters and the sort order of GET /api/jobs. The file is UTF-8 with a byte order mark and CRLF line ' +
      'ends. An apostrophe is added before a value that a spreadsheet would execute as a formula. The response is ' +
      'sent in chunks while it is read from the database. If the connection closes before the last chunk, the file ' +
      'is incomplete.',
    reads: 'runs',
    access: allowSessionsAndKeys('runs.read'),
    mayLag: true,
    csv: true,
    waits: true,
    errors: ['invalid_payload'],
  })
  async export(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @OrganizationId() organizationId: string,
    @Query() query: JobsExportQuery,
  ): Promise<void> {
    const { sort, ...filter } = query;
    const now = this.clock.now();
    const pieces = exportJobs(this.database, organizationId, { filter, sort, now });
    const filename = `runs-${now.toISOString().slice(0, 10)}.csv`;
    await streamCsv({ request, reply, streams: this.streams }, filename, pieces);
  }
}
