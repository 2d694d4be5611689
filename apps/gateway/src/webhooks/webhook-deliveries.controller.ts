import { Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutation, MutationRequest, Mutations, OrganizationId, sessionsOf } from '@muster/access';
import { WebhookDeliveryDetail, WebhookDeliveryList, WebhookDeliveryQuery, WebhookRedelivery } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock, pageOf, paginate } from '@muster/platform';
import { findDelivery, listDeliveries, redeliver } from '@muster/webhooks';
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
    access: sessionsOf('admin'),
    answer: WebhookDeliveryList,
    errors: ['invalid_payload', 'not_found'],
  })
  async list(
    @OrganizationId() organizationId: string,
    @Param('id') endpointId: string,
    @Query() query: WebhookDeliveryQuery,
  ): Promise<WebhookDeliveryList> {
    const page = pageOf(query, 'id');
    const rows = await listDeliveries(this.database, organizationId, { endpointId, page, filter: query });
    const { items, nextCursor } = paginate(rows, page, ({ id }) => [id]);
    return { deliveries: items.map(presentDelivery), nextCursor };
  }

  @Get('/:deliveryId')
  @Endpoint({
    summary: 'Read a delivery with the sent body',
    access: sessionsOf('admin'),
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
      'The delivery is sent at once, with the same webhook-id and body and a new timestamp. It may be attempted as ' +
      'often as a new delivery.',
    access: sessionsOf('admin'),
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
    return this.mutations.run(mutation, async (tx, caller) => {
      await redeliver(tx, caller, { endpointId, deliveryId, now: this.clock.now() });
      return {
        body: { id: deliveryId, status: 'pending' },
        location: `/api/webhook-endpoints/${endpointId}/deliveries/${deliveryId}`,
      };
    });
  }
}
