import { Controller, Get, Inject, Query, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, principalOf, sessionsAndKeysOf } from '@muster/access';
import { Usage, UsageQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock } from '@muster/platform';
import { readUsage } from '@muster/pricing';
import type { FastifyRequest } from 'fastify';

@ApiTags('Organization')
@Controller('/api/usage')
export class UsageController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get()
  @Endpoint({
    summary: 'A month’s runs and spend, its limits, and whether another run may be launched',
    access: sessionsAndKeysOf('viewer'),
    answer: Usage,
    errors: ['invalid_payload'],
  })
  read(@Req() request: FastifyRequest, @Query() { month }: UsageQuery): Promise<Usage> {
    return readUsage(this.database, principalOf(request).organizationId, { month, now: this.clock.now() });
  }
}
