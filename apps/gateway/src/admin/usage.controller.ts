import { Controller, Get, Inject, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { audit, Endpoint, Mutation, MutationRequest, Mutations, sessionsOf } from '@muster/access';
import { AdminUsage, AdminUsageQuery, UsageReconciliation } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock, Metrics, pageOf, paginate } from '@muster/platform';
import { lastReconciliation, listUsage, monthOf, reconcileUsage } from '@muster/pricing';

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
    summary: 'Every organization’s month, and which counters were not what they count when that was looked at last',
    access: sessionsOf('super_admin'),
    answer: AdminUsage,
  })
  async usage(@Query() query: AdminUsageQuery): Promise<AdminUsage> {
    const page = pageOf(query, 'id');
    const month = query.month === undefined ? monthOf(this.clock.now()) : `${query.month}-01`;
    const [rows, reconciliation] = await Promise.all([
      listUsage(this.database, { month, page }),
      lastReconciliation(this.database),
    ]);
    const { items, nextCursor } = paginate(rows, page, ({ organizationId }) => [organizationId]);
    return { month: month.slice(0, 7), usage: items, nextCursor, ...reconciliation };
  }

  @Post('/reconcile')
  @Endpoint({
    summary: 'Compare the counters with what they count, as every night',
    description: 'Differences are told here, in each organization’s audit trail, and as a metric; nothing is changed.',
    access: sessionsOf('super_admin'),
    answer: UsageReconciliation,
  })
  async reconcile(@Mutation() mutation: MutationRequest): Promise<UsageReconciliation> {
    const found = await reconcileUsage(this.database, this.clock.now());
    this.metrics.usageDifferences.set(found.differing);
    return this.mutations.run(
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
