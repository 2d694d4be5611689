import { Body, Controller, Get, Inject, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Caller,
  Endpoint,
  Mutation,
  type MutationOptions,
  MutationRequest,
  Mutations,
  type Principal,
  sessionsOf,
} from '@muster/access';
import {
  BackfillAnswer,
  BackfillBody,
  BillingMetricList,
  BillingMetricQuery,
  BillingMetricStepList,
  ClientPricingModel,
  PageQuery,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { pageOf, paginate } from '@muster/platform';
import {
  backfillMetrics,
  listMetrics,
  listMetricSteps,
  presentPricingModel,
  putPricingModel,
  readModel,
  readPricingModel,
} from '@muster/pricing';
import { presentFigures, presentMetric, presentMetricStep } from './present-billing';

/** What clients are charged: an admin reaches the own organization, a super_admin every one. */
@ApiTags('Client pricing')
@Controller('/api/admin/client-pricing')
export class ClientPricingController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
  ) {}

  @Post('/backfill')
  @Endpoint({
    summary: 'Compute what a run is charged from its steps',
    description:
      'Claims count once for each NPI and claim. Where no step reports a claim, the NPIs that were selected count. Of ' +
      'several requests at once for one job, without force, one does it and the others get 409.',
    access: sessionsOf('admin'),
    body: BackfillBody,
    answer: BackfillAnswer,
    errors: [
      'organization_unresolved',
      'job_not_found',
      'metadata_not_found',
      'pricing_model_missing',
      'billing_record_exists',
    ],
  })
  backfill(
    @Mutation() mutation: MutationRequest,
    @Caller() caller: Principal,
    @Body() { job_id: jobId, create_default_model: createDefaultModel = false, force = false }: BackfillBody,
  ): Promise<BackfillAnswer> {
    return this.mutations.run(
      mutation,
      async (tx) => {
        const { metric, replacedExisting } = await backfillMetrics(tx, caller, { jobId, createDefaultModel, force });
        const body: BackfillAnswer = {
          success: true,
          replaced_existing: replacedExisting,
          ...presentFigures(metric),
        };
        return { body };
      },
      scopeOf(caller),
    );
  }

  @Get('/metrics')
  @Endpoint({
    summary: 'List billing records, newest first',
    description: 'Of one job, or of days; also of jobs that were deleted since.',
    access: sessionsOf('admin'),
    answer: BillingMetricList,
    errors: ['invalid_payload'],
  })
  async metrics(@Caller() caller: Principal, @Query() query: BillingMetricQuery): Promise<BillingMetricList> {
    const page = pageOf(query, 'id');
    const rows = await listMetrics(this.database, caller, { query, page });
    const { items, nextCursor } = paginate(rows, page, ({ id }) => [id]);
    return { metrics: items.map(presentMetric), nextCursor };
  }

  @Get('/metrics/:id/steps')
  @Endpoint({
    summary: 'List the steps that a billing record was computed from',
    access: sessionsOf('admin'),
    answer: BillingMetricStepList,
    errors: ['invalid_payload', 'not_found'],
  })
  async steps(
    @Caller() caller: Principal,
    @Param('id') metricId: string,
    @Query() query: PageQuery,
  ): Promise<BillingMetricStepList> {
    const page = pageOf(query, 'integer');
    const rows = await listMetricSteps(this.database, caller, { metricId, page });
    const { items, nextCursor } = paginate(rows, page, ({ stepOrder }) => [String(stepOrder)]);
    return { steps: items.map(presentMetricStep), nextCursor };
  }

  @Get('/:organizationId')
  @Endpoint({
    summary: 'Read an organization’s pricing model',
    access: sessionsOf('admin'),
    answer: ClientPricingModel,
    errors: ['invalid_payload', 'not_found', 'pricing_model_missing'],
  })
  async model(@Caller() caller: Principal, @Param('organizationId') id: string): Promise<ClientPricingModel> {
    return presentPricingModel(await readPricingModel(this.database, caller, id));
  }

  @Put('/:organizationId')
  @Endpoint({
    summary: 'Set an organization’s pricing model',
    description: 'Records that were computed before keep the model that they were computed with.',
    access: sessionsOf('admin'),
    body: ClientPricingModel,
    answer: ClientPricingModel,
    errors: ['not_found'],
  })
  setModel(
    @Mutation() mutation: MutationRequest,
    @Caller() caller: Principal,
    @Param('organizationId') id: string,
    @Body() body: ClientPricingModel,
  ): Promise<ClientPricingModel> {
    const model = readModel(body);
    return this.mutations.run(
      mutation,
      async (tx) => ({ body: presentPricingModel(await putPricingModel(tx, caller, id, model)) }),
      scopeOf(caller),
    );
  }
}

/** Across organizations for super_admins alone. */
function scopeOf(caller: Principal): MutationOptions {
  return caller.role === 'super_admin' ? { scope: 'system' } : {};
}
