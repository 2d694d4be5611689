import { Controller, Get, Inject, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { audit, Endpoint, Mutation, MutationRequest, Mutations, allowSessions } from '@muster/access';
import { AdminUsage, AdminUsageQuery, UsageReconciliation } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock, Metrics, parsePage, buildPage } from '@muster/platform';
import { readLastReconciliation, listUsage, getBillingMonth, reconcileUsage } from '@muster/pricing';

@ApiTags('Administration')
@Controller('/api/admin/usage')
export class AdminUsageController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Metrics) private readonly metrics: Metrics,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List the monthly usage of all organizations',
    description:
      'Returns the usage of one month, by default the current one, and the result of the last comparison of the ' +
      'usage counters with their events.',
    access: allowSessions('platform.admin'),
    mayLag: true,
    answer: AdminUsage,
  })
  async usage(@Query() query: AdminUsageQuery): Promise<AdminUsage> {
    const page = parsePage(query, 'id');
    const month = query.month === undefined ? getBillingMonth(this.clock.now()) : `${query.month}-01`;
    const [rows, reconciliation] = await Promise.all([
      listUsage(this.database, { month, page }),
      readLastReconciliation(this.database),
    ]);
    const { items, nextCursor } = buildPage(rows, page, ({ organizationId }) => [organizationId]);
    return { month: month.slice(0, 7), usage: items, nextCursor, ...reconciliation };
  }

  @Post('/reconcile')
  @Endpoint({
    summary: 'Compare usage counters with their events',
    description:
      'Compares the usage counters of all organizations with the usage events that they count, as the service also ' +
      'does every night. The response contains the first 200 differences. Each difference is recorded in the audit ' +
      'trail of its organization, and a metric contains the number of differences. No counter is changed.',
    access: allowSessions('platform.admin'),
    answer: UsageReconciliation,
  })
  async reconcile(@Mutation() mutation: MutationRequest): Promise<UsageReconciliation> {
    const found = await reconcileUsage(this.database, this.clock.now());
    this.metrics.usageDifferences.set(found.differing);
    return this.mutations.runMutation(
      mutation,
      (tx, caller) => {
        const { organizations, differing } = found;
        audit(tx, caller, {
          action: 'usage.reconcile',
          target: { type: 'usage', id: 'all' },
          changes: { organizations, differing },
        });
        return Promise.resolve({ body: found });
      },
      { scope: 'system' },
    );
  }
}
