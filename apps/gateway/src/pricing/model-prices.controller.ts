import { Body, Controller, Get, Inject, Param, Post, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Endpoint,
  IfMatch,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  allowSessionsAndKeys,
  allowSessions,
} from '@muster/access';
import { CostRecompute, ModelPriceList, PutModelPricesBody, RecomputeCostsBody } from '@muster/contracts';
import { Database } from '@muster/database';
import {
  findCostRecompute,
  listDefaultModelPrices,
  listModelPrices,
  replaceDefaultModelPrices,
  replaceModelPrices,
  requestCostRecompute,
} from '@muster/pricing';
import { toEtag, Reply, ReplyHead } from '@muster/platform';
import { presentRecompute } from './present-recompute';

@ApiTags('Costs')
@Controller('/api')
export class ModelPricesController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
  ) {}

  @Get('/organization/model-prices')
  @Endpoint({
    summary: 'List the prices of language models',
    description:
      'Contains the organization’s own prices, followed by the default prices. A default price applies to a model ' +
      'for which the organization has no own price.',
    access: allowSessionsAndKeys('costs.read'),
    answer: ModelPriceList,
    etag: 'read',
  })
  async own(@Reply() reply: ReplyHead, @OrganizationId() organizationId: string): Promise<ModelPriceList> {
    const { prices, revision } = await listModelPrices(this.database, organizationId);
    reply.setEtag(revision);
    return { prices };
  }

  @Put('/organization/model-prices')
  @Endpoint({
    summary: 'Replace the organization’s own prices',
    description:
      'Runs that have ended keep their costs until they are recomputed. The ETag is the revision of the ' +
      'organization’s own prices.',
    access: allowSessions('pricing.write'),
    body: PutModelPricesBody,
    answer: ModelPriceList,
    etag: 'change',
  })
  replaceOwn(
    @Mutation() mutation: MutationRequest,
    @Body() { prices }: PutModelPricesBody,
    @IfMatch() ifMatch?: string,
  ): Promise<ModelPriceList> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const own = await replaceModelPrices(tx, caller, prices, ifMatch);
      const defaults = await listDefaultModelPrices(this.database);
      return { body: { prices: [...own.prices, ...defaults.prices] }, etag: toEtag(own.revision) };
    });
  }

  @Post('/organization/model-prices/recompute')
  @Endpoint({
    summary: 'Recompute the costs of ended runs',
    description:
      'Applies the current prices to runs that ended, and to model calls that were made, on the specified days.',
    access: allowSessions('pricing.write'),
    body: RecomputeCostsBody,
    answer: CostRecompute,
    status: 202,
    idempotent: true,
  })
  recompute(@Mutation() mutation: MutationRequest, @Body() body: RecomputeCostsBody): Promise<CostRecompute> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const row = await requestCostRecompute(tx, caller, body);
      return { body: presentRecompute(row), location: `/api/organization/model-prices/recompute/${row.id}` };
    });
  }

  @Get('/organization/model-prices/recompute/:id')
  @Endpoint({
    summary: 'Read the progress of a recompute',
    access: allowSessionsAndKeys('costs.read'),
    answer: CostRecompute,
    errors: ['not_found'],
  })
  async recomputeStatus(@OrganizationId() organizationId: string, @Param('id') id: string): Promise<CostRecompute> {
    return presentRecompute(await findCostRecompute(this.database, organizationId, id));
  }

  @Get('/admin/model-prices')
  @Endpoint({
    summary: 'List the default prices of language models',
    access: allowSessions('platform.admin'),
    answer: ModelPriceList,
    etag: 'read',
  })
  async defaults(@Reply() reply: ReplyHead): Promise<ModelPriceList> {
    const { prices, revision } = await listDefaultModelPrices(this.database);
    reply.setEtag(revision);
    return { prices };
  }

  @Put('/admin/model-prices')
  @Endpoint({
    summary: 'Replace the default prices of language models',
    access: allowSessions('platform.admin'),
    body: PutModelPricesBody,
    answer: ModelPriceList,
    etag: 'change',
  })
  replaceDefaults(
    @Mutation() mutation: MutationRequest,
    @Body() body: PutModelPricesBody,
    @IfMatch() ifMatch?: string,
  ): Promise<ModelPriceList> {
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => {
        const { prices, revision } = await replaceDefaultModelPrices(tx, caller, body.prices, ifMatch);
        return { body: { prices }, etag: toEtag(revision) };
      },
      { scope: 'system' },
    );
  }
}
