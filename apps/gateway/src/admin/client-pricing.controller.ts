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
  allowSessions,
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
import { parsePage, buildPage } from '@muster/platform';
import {
  backfillMetrics,
  listMetrics,
  listMetricSteps,
  presentPricingModel,
  putPricingModel,
  parsePricingModel,
  readPricingModel,
} from '@muster/pricing';
import { presentBillingFigures, presentBillingMetric, presentMetricStep } from './present-billing';

/**
 * The prices that organizations pay for claims and runs, and their billing records. An admin has access to their own
 * organization, a super_admin to every organization.
 */
@ApiTags('Client pricing')
@Controller('/api/admin/client-pricing')
export class ClientPricingController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
  ) {}

  @Post('/backfill')
  @Endpoint({
    summary: 'Compute the charge of a run',
    description:
      'Counts the claims that the steps of the job report, once for each claim of an NPI (the number of a health ' +
      'care provider in the US). If no step reports a claim, the NPIs that the steps selected are counted. If the ' +
      'job already has a billing record, the request fails with 409 unless `force` is set. Of several concurrent ' +
      'requests for one job without `force`, one succeeds and the others get 409.',
    access: allowSessions('pricing.write'),
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
    return this.mutations.runMutation(
      mutation,
      async (tx) => {
        const { metric, replacedExisting } = await backfillMetrics(tx, caller, { jobId, createDefaultModel, force });
        const body: BackfillAnswer = {
          success: true,
          replaced_existing: replacedExisting,
          ...presentBillingFigures(metric),
        };
        return { body };
      },
      chooseMutationScope(caller),
    );
  }

  @Get('/metrics')
  @Endpoint({
    summary: 'List billing records, newest first',
    description: 'Returns the records of one job or of a range of days, including records of deleted jobs.',
    access: allowSessions('pricing.write'),
    answer: BillingMetricList,
    errors: ['invalid_payload'],
  })
  async metrics(@Caller() caller: Principal, @Query() query: BillingMetricQuery): Promise<BillingMetricList> {
    const page = parsePage(query, 'id');
    const rows = await listMetrics(this.database, caller, { query, page });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { metrics: items.map(presentBillingMetric), nextCursor };
  }

  @Get('/metrics/:id/steps')
  @Endpoint({
    summary: 'List the steps behind a billing record',
    description:
      'Returns the steps that the billing record was computed from, in their order. The verdict of a step is ' +
      'counted, repeated (an earlier step reports the same claim) or left_out (the claim or its NPI is unknown).',
    access: allowSessions('pricing.write'),
    answer: BillingMetricStepList,
    errors: ['invalid_payload', 'not_found'],
  })
  async steps(
    @Caller() caller: Principal,
    @Param('id') metricId: string,
    @Query() query: PageQuery,
  ): Promise<BillingMetricStepList> {
    const page = parsePage(query, 'integer');
    const rows = await listMetricSteps(this.database, caller, { metricId, page });
    const { items, nextCursor } = buildPage(rows, page, ({ stepOrder }) => [String(stepOrder)]);
    return { steps: items.map(presentMetricStep), nextCursor };
  }

  @Get('/:organizationId')
  @Endpoint({
    summary: 'Read an organization’s pricing model',
    access: allowSessions('pricing.write'),
    answer: ClientPricingModel,
    errors: ['invalid_payload', 'not_found', 'pricing_model_missing'],
  })
  async model(@Caller() caller: Principal, @Param('organizationId') id: string): Promise<ClientPricingModel> {
    return presentPricingModel(await readPricingModel(this.database, caller, id));
  }

  @Put('/:organizationId')
  @Endpoint({
    summary: 'Set an organization’s pricing model',
    description: 'Existing billing records keep the model that they were computed with.',
    access: allowSessions('pricing.write'),
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
    const model = parsePricingModel(body);
    return this.mutations.runMutation(
      mutation,
      async (tx) => ({ body: presentPricingModel(await putPricingModel(tx, caller, id, model)) }),
      chooseMutationScope(caller),
    );
  }
}

/** A super_admin can change other organizations. Such a change needs a transaction in the system scope. */
function chooseMutationScope(caller: Principal): MutationOptions {
  return caller.role === 'super_admin' ? { scope: 'system' } : {};
}
