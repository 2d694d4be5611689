import { Body, Controller, Delete, Get, Inject, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, IfMatch, Mutation, MutationRequest, Mutations, OrganizationId, allowSessions } from '@muster/access';
import { AppError, OrganizationModel, PutOrganizationModelBody } from '@muster/contracts';
import { Database } from '@muster/database';
import { Models } from '@muster/models';
import { toEtag, Reply, ReplyHead } from '@muster/platform';
import {
  checkModelAddress,
  deleteOrganizationModel,
  findOrganizationModel,
  hashModelRevision,
  putOrganizationModel,
} from '@muster/pricing';

@ApiTags('Organization')
@Controller('/api/organization/model')
export class OrganizationModelController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Models) private readonly models: Models,
  ) {}

  @Get()
  @Endpoint({
    summary: 'Read the organization’s own language model',
    access: allowSessions('settings.admin'),
    answer: OrganizationModel,
    errors: ['not_found'],
    etag: 'read',
  })
  async read(@Reply() reply: ReplyHead, @OrganizationId() organizationId: string): Promise<OrganizationModel> {
    const model = await findOrganizationModel(this.database, organizationId);
    if (!model)
      throw new AppError('not_found', {
        detail: 'The organization has not set its own language model. Set one with PUT /api/organization/model.',
      });
    reply.setEtag(hashModelRevision(model));
    return model;
  }

  @Put()
  @Endpoint({
    summary: 'Set the organization’s own language model',
    description:
      'The organization’s model is used instead of the one that the operator of the service has configured. ' +
      '`apiKeyVaultKey` names the vault secret with its API key.',
    access: allowSessions('settings.admin'),
    body: PutOrganizationModelBody,
    answer: OrganizationModel,
    etag: 'change',
  })
  async put(
    @Mutation() mutation: MutationRequest,
    @Body() body: PutOrganizationModelBody,
    @IfMatch() ifMatch?: string,
  ): Promise<OrganizationModel> {
    await checkModelAddress(this.models, body.baseUrl);
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const model = await putOrganizationModel(tx, caller, body, ifMatch);
      return { body: model, etag: toEtag(hashModelRevision(model)) };
    });
  }

  @Delete()
  @Endpoint({
    summary: 'Remove the organization’s own language model',
    description: 'The model that the operator of the service has configured is used again, if there is one.',
    access: allowSessions('settings.admin'),
    status: 204,
    errors: ['not_found'],
    etag: 'change',
  })
  delete(@Mutation() mutation: MutationRequest, @IfMatch() ifMatch?: string): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await deleteOrganizationModel(tx, caller, ifMatch);
      return { body: undefined };
    });
  }
}
