import { Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutation, MutationRequest, Mutations, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import { acknowledgeAlert, listAlerts, presentAlert } from '@muster/alerts';
import { Alert, AlertList, AlertsQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { parsePage, buildPage } from '@muster/platform';

@ApiTags('Alerts')
@Controller('/api/alerts')
export class AlertsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List alerts',
    description: 'The newest alert comes first. An alert is deleted 90 days after it was resolved.',
    access: allowSessionsAndKeys('alerts.read'),
    answer: AlertList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() filter: AlertsQuery): Promise<AlertList> {
    const page = parsePage(filter, 'id');
    const rows = await listAlerts(this.database, organizationId, { page, filter });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { alerts: items.map(presentAlert), nextCursor };
  }

  @Post('/:id/acknowledge')
  @Endpoint({
    summary: 'Acknowledge an alert',
    description:
      'Records who takes care of the alert. The alert stays open until its cause has ended. A second call changes ' +
      'nothing.',
    access: allowSessionsAndKeys('alerts.write'),
    answer: Alert,
    errors: ['not_found'],
  })
  acknowledge(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<Alert> {
    return this.mutations.runMutation(mutation, async (tx, caller) => ({
      body: presentAlert(await acknowledgeAlert(tx, caller, id)),
    }));
  }
}
