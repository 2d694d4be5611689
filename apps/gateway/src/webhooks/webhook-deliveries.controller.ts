import { Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutation, MutationRequest, Mutations, OrganizationId, allowSessions } from '@muster/access';
import { WebhookDeliveryDetail, WebhookDeliveryList, WebhookDeliveryQuery, WebhookRedelivery } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock, parsePage, buildPage } from '@muster/platform';
import { findDelivery, listDeliveries, redeliverEvent } from '@muster/webhooks';
import { presentDelivery } from './present-webhooks';

@ApiTags('Webhooks')
@Controller('/api/webhook-endpoints/:id/deliveries')
export class WebhookDeliveriesController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List deliveries of an endpoint, newest first',
    description: 'Contains the deliveries of the last 30 days with their attempts.',
    access: allowSessions('webhooks.admin'),
    answer: WebhookDeliveryList,
    errors: ['invalid_payload', 'not_found'],
  })
  async list(
    @OrganizationId() organizationId: string,
    @Param('id') endpointId: string,
    @Query() query: WebhookDeliveryQuery,
  ): Promise<WebhookDeliveryList> {
    const page = parsePage(query, 'id');
    const rows = await listDeliveries(this.database, organizationId, { endpointId, page, filter: query });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { deliveries: items.map(presentDelivery), nextCursor };
  }

  @Get('/:deliveryId')
  @Endpoint({
    summary: 'Read a delivery with the sent body',
    access: allowSessions('webhooks.admin'),
    answer: WebhookDeliveryDetail,
    errors: ['not_found'],
  })
  async read(
    @OrganizationId() organizationId: string,
    @Param('id') endpointId: string,
    @Param('deliveryId') deliveryId: string,
  ): Promise<WebhookDeliveryDetail> {
    const row = await findDelivery(this.database, organizationId, { endpointId, deliveryId });
    return { ...presentDelivery(row), body: row.body };
  }

  @Post('/:deliveryId/redeliver')
  @Endpoint({
    summary: 'Send a delivery again',
    description:
      'The delivery is sent at once, with the same webhook-id and body and a new timestamp. If it fails, it is ' +
      'retried as often as a new delivery.',
    access: allowSessions('webhooks.admin'),
    answer: WebhookRedelivery,
    status: 202,
    errors: ['not_found'],
    idempotent: true,
  })
  redeliver(
    @Mutation() mutation: MutationRequest,
    @Param('id') endpointId: string,
    @Param('deliveryId') deliveryId: string,
  ): Promise<WebhookRedelivery> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await redeliverEvent(tx, caller, { endpointId, deliveryId, now: this.clock.now() });
      return {
        body: { id: deliveryId, status: 'pending' },
        location: `/api/webhook-endpoints/${endpointId}/deliveries/${deliveryId}`,
      };
    });
  }
}
