import { Controller, Get, Inject, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import { Usage, UsageQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock } from '@muster/platform';
import { readUsage } from '@muster/pricing';

@ApiTags('Organization')
@Controller('/api/usage')
export class UsageController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get()
  @Endpoint({
    summary: 'Read the usage of a month',
    description:
      'Contains the runs and the spend of the month, the monthly limits, and whether another run can be launched ' +
      'now.',
    access: allowSessionsAndKeys('costs.read'),
    answer: Usage,
    errors: ['invalid_payload'],
  })
  read(@OrganizationId() organizationId: string, @Query() { month }: UsageQuery): Promise<Usage> {
    return readUsage(this.database, organizationId, { month, now: this.clock.now() });
  }
}
