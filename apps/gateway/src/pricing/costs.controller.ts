import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import { readIdleSavings } from '@muster/machines';
import { Costs, CostsQuery, JobCost } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock, Reply, ReplyHead } from '@muster/platform';
import { formatCostsCsv, listCosts, readRunCost } from '@muster/pricing';

@ApiTags('Costs')
@Controller('/api')
export class CostsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get('/jobs/:id/cost')
  @Endpoint({
    summary: 'Read the cost of a run',
    description: 'Contains the total and its components.',
    access: allowSessionsAndKeys('costs.read'),
    answer: JobCost,
    errors: ['not_found'],
  })
  ofJob(@OrganizationId() organizationId: string, @Param('id') id: string): Promise<JobCost> {
    return readRunCost(this.database, organizationId, id);
  }

  @Get('/costs')
  @Endpoint({
    summary: 'Read the costs of runs',
    description:
      'By default, the costs are grouped by the day on which the runs ended; `groupBy` selects another grouping. The ' +
      'groups add up to the total and include deleted runs. A range has at most three years. `idle` contains the ' +
      'hours that machines were on between their runs, and how many of these hours the idleStopPolicy `adaptive` ' +
      'saved or would have saved.',
    access: allowSessionsAndKeys('costs.read'),
    mayLag: true,
    answer: Costs,
  })
  async costs(@OrganizationId() organizationId: string, @Query() query: CostsQuery): Promise<Costs> {
    const costs = await listCosts(this.database, organizationId, { query, now: this.clock.now() });
    return { ...costs, idle: await readIdleSavings(this.database, organizationId, costs) };
  }

  @Get('/costs/export')
  @Endpoint<string>({
    summary: 'Export the costs of runs as CSV',
    description: 'An apostrophe is added before a value that a spreadsheet would execute as a formula.',
    access: allowSessionsAndKeys('costs.read'),
    mayLag: true,
    reads: 'costs',
    csv: true,
  })
  async export(
    @OrganizationId() organizationId: string,
    @Reply() reply: ReplyHead,
    @Query() query: CostsQuery,
  ): Promise<string> {
    const costs = await listCosts(this.database, organizationId, { query, now: this.clock.now() });
    reply.declareCsvFile(`costs-by-${costs.groupBy}-${costs.from}-${costs.to}.csv`);
    return formatCostsCsv(costs);
  }
}
