import { Body, Controller, Delete, Get, Inject, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, IfMatch, Mutation, MutationRequest, Mutations, OrganizationId, allowSessions } from '@muster/access';
import {
  CreateWebhookEndpointBody,
  SearchQuery,
  UpdateWebhookEndpointBody,
  WebhookEndpoint,
  WebhookEndpointList,
  WebhookEndpointWithSecret,
  WebhookTestStarted,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock, toEtag, Outbound, parsePage, buildPage, Reply, ReplyHead } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import {
  createEndpoint,
  deleteEndpoint,
  findEndpoint,
  listEndpoints,
  requireCallableUrl,
  rotateEndpointSecret,
  sendTestToEndpoint,
  updateEndpoint,
} from '@muster/webhooks';
import { presentEndpoint } from './present-webhooks';

@ApiTags('Webhooks')
@Controller('/api/webhook-endpoints')
export class WebhookEndpointsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(Outbound) private readonly outbound: Outbound,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List webhook endpoints',
    access: allowSessions('webhooks.admin'),
    answer: WebhookEndpointList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: SearchQuery): Promise<WebhookEndpointList> {
    const page = parsePage(query, 'id');
    const rows = await listEndpoints(this.database, organizationId, { page, q: query.q });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { webhookEndpoints: items.map(presentEndpoint), nextCursor };
  }

  @Post()
  @Endpoint({
    summary: 'Create a webhook endpoint',
    description:
      'Deliveries follow the Standard Webhooks specification and are signed with the secret in this response, which ' +
      'is not shown again. Each event is delivered at least once and in no guaranteed order; `data.sequence` ' +
      'increases with each event of a resource. An organization can have up to 20 endpoints.',
    access: allowSessions('webhooks.admin'),
    body: CreateWebhookEndpointBody,
    answer: WebhookEndpointWithSecret,
    status: 201,
    errors: ['conflict'],
    etag: 'read',
    idempotent: true,
  })
  async create(
    @Mutation() mutation: MutationRequest,
    @Body() body: CreateWebhookEndpointBody,
  ): Promise<WebhookEndpointWithSecret> {
    await requireCallableUrl(this.outbound, body.url);
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const { row, secret } = await createEndpoint(tx, this.keyRing, caller, body);
      return {
        body: { ...presentEndpoint(row), secret },
        etag: toEtag(row.version),
        location: `/api/webhook-endpoints/${row.id}`,
      };
    });
  }

  @Get('/:id')
  @Endpoint({
    summary: 'Read a webhook endpoint',
    description: 'Reports whether the endpoint is enabled and, if it was turned off, the reason.',
    access: allowSessions('webhooks.admin'),
    answer: WebhookEndpoint,
    errors: ['not_found'],
    etag: 'read',
  })
  async read(
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
    @Reply() reply: ReplyHead,
  ): Promise<WebhookEndpoint> {
    const row = await findEndpoint(this.database, organizationId, id);
    reply.setEtag(row.version);
    return presentEndpoint(row);
  }

  @Patch('/:id')
  @Endpoint({
    summary: 'Change fields of a webhook endpoint',
    description:
      'A disabled endpoint receives no deliveries, and none are created for new events. Deliveries that are pending ' +
      'are sent when it is enabled again.',
    access: allowSessions('webhooks.admin'),
    body: UpdateWebhookEndpointBody,
    answer: WebhookEndpoint,
    errors: ['not_found'],
    etag: 'change',
  })
  async update(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() change: UpdateWebhookEndpointBody,
    @IfMatch() ifMatch?: string,
  ): Promise<WebhookEndpoint> {
    await requireCallableUrl(this.outbound, change.url);
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const row = await updateEndpoint(tx, caller, id, { change, ifMatch });
      return { body: presentEndpoint(row), etag: toEtag(row.version) };
    });
  }

  @Delete('/:id')
  @Endpoint({
    summary: 'Delete a webhook endpoint',
    description: 'The endpoint’s deliveries are deleted too, and pending ones are not sent.',
    access: allowSessions('webhooks.admin'),
    status: 204,
    errors: ['not_found'],
    etag: 'change',
  })
  delete(@Mutation() mutation: MutationRequest, @Param('id') id: string, @IfMatch() ifMatch?: string): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await deleteEndpoint(tx, caller, id, { ifMatch });
      return { body: undefined };
    });
  }

  @Post('/:id/rotate-secret')
  @Endpoint({
    summary: 'Rotate the secret of a webhook endpoint',
    description:
      'For 24 hours, deliveries are signed with the previous secret too. At most five secrets are valid at the same ' +
      'time.',
    access: allowSessions('webhooks.admin'),
    answer: WebhookEndpointWithSecret,
    status: 200,
    errors: ['not_found', 'conflict'],
    idempotent: true,
  })
  rotate(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<WebhookEndpointWithSecret> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const { row, secret } = await rotateEndpointSecret(tx, this.keyRing, caller, { id, now: this.clock.now() });
      return { body: { ...presentEndpoint(row), secret } };
    });
  }

  @Post('/:id/test')
  @Endpoint({
    summary: 'Send a webhook.test event to an endpoint',
    description:
      'The event is sent even if the endpoint is disabled or does not receive this type of event. A failed delivery ' +
      'is retried like that of any other event.',
    access: allowSessions('webhooks.admin'),
    answer: WebhookTestStarted,
    status: 202,
    errors: ['not_found'],
    idempotent: true,
  })
  test(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<WebhookTestStarted> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const deliveryId = await sendTestToEndpoint(tx, caller, id, this.clock.now());
      return { body: { deliveryId }, location: `/api/webhook-endpoints/${id}/deliveries/${deliveryId}` };
    });
  }
}
