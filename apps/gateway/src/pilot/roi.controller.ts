import { Controller, Get, Inject, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import { Roi, RoiQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { readRoi } from '@muster/pilot';
import { Clock } from '@muster/platform';

@ApiTags('Pilot')
@Controller('/api/pilot/roi')
export class RoiController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get()
  @Endpoint({
    summary: 'Read the return on investment',
    description:
      'The days are those of the organization’s time zone, with the first and the last included. Without a range, ' +
      'the last 30 days are used. The totals are the sums of `daily`. The totals include data that was deleted or ' +
      'has expired since. To list the batches that they are computed from, use `GET /api/pilot/batches` with the ' +
      'same days.',
    access: allowSessionsAndKeys('costs.read'),
    mayLag: true,
    answer: Roi,
    errors: ['invalid_payload'],
  })
  read(@OrganizationId() organizationId: string, @Query() query: RoiQuery): Promise<Roi> {
    return readRoi(this.database, organizationId, { query, now: this.clock.now() });
  }
}
