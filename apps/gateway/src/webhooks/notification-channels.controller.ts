import { Body, Controller, Delete, Get, Inject, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, IfMatch, Mutation, MutationRequest, Mutations, OrganizationId, allowSessions } from '@muster/access';
import {
  CreateNotificationChannelBody,
  NotificationChannel,
  NotificationChannelList,
  NotificationChannelWithSecret,
  NotificationTestStarted,
  SearchQuery,
  UpdateNotificationChannelBody,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock, toEtag, Outbound, parsePage, buildPage, Reply, ReplyHead } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import {
  createChannel,
  deleteChannel,
  findChannel,
  listChannels,
  requireCallableUrl,
  sendTestToChannel,
  updateChannel,
} from '@muster/webhooks';
import { presentChannel } from './present-webhooks';

@ApiTags('Notifications')
@Controller('/api/notification-channels')
export class NotificationChannelsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(Outbound) private readonly outbound: Outbound,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List notification channels',
    access: allowSessions('webhooks.admin'),
    answer: NotificationChannelList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: SearchQuery): Promise<NotificationChannelList> {
    const page = parsePage(query, 'id');
    const rows = await listChannels(this.database, organizationId, { page, q: query.q });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { notificationChannels: items.map(presentChannel), nextCursor };
  }

  @Post()
  @Endpoint({
    summary: 'Create a notification channel',
    description:
      'A channel notifies people by e-mail, Slack or Teams, or a program by webhook. People receive each event at ' +
      'most once; events within a minute of a message are combined into one message with a count. A webhook channel ' +
      'receives each event at least once, like a webhook endpoint. An organization can have up to 20 channels.',
    access: allowSessions('webhooks.admin'),
    body: CreateNotificationChannelBody,
    answer: NotificationChannelWithSecret,
    status: 201,
    errors: ['conflict'],
    etag: 'read',
    idempotent: true,
  })
  async create(
    @Mutation() mutation: MutationRequest,
    @Body() body: CreateNotificationChannelBody,
  ): Promise<NotificationChannelWithSecret> {
    await requireCallableUrl(this.outbound, body.target.url, 'target.url');
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const { row, secret } = await createChannel(tx, this.keyRing, caller, body);
      return {
        body: { ...presentChannel(row), secret },
        etag: toEtag(row.version),
        location: `/api/notification-channels/${row.id}`,
      };
    });
  }

  @Get('/:id')
  @Endpoint({
    summary: 'Read a notification channel',
    description: '`lastAttempt` contains the result of the last message of the channel.',
    access: allowSessions('webhooks.admin'),
    answer: NotificationChannel,
    errors: ['not_found'],
    etag: 'read',
  })
  async read(
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
    @Reply() reply: ReplyHead,
  ): Promise<NotificationChannel> {
    const row = await findChannel(this.database, organizationId, id);
    reply.setEtag(row.version);
    return presentChannel(row);
  }

  @Patch('/:id')
  @Endpoint({
    summary: 'Change fields of a notification channel',
    description: 'Absent fields keep their values.',
    access: allowSessions('webhooks.admin'),
    body: UpdateNotificationChannelBody,
    answer: NotificationChannel,
    errors: ['not_found'],
    etag: 'change',
  })
  async update(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() change: UpdateNotificationChannelBody,
    @IfMatch() ifMatch?: string,
  ): Promise<NotificationChannel> {
    await requireCallableUrl(this.outbound, change.target?.url, 'target.url');
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const row = await updateChannel(tx, this.keyRing, caller, { id, change, ifMatch });
      return { body: presentChannel(row), etag: toEtag(row.version) };
    });
  }

  @Delete('/:id')
  @Endpoint({
    summary: 'Delete a notification channel',
    description: 'The channel’s messages are deleted too, and pending ones are not sent.',
    access: allowSessions('webhooks.admin'),
    status: 204,
    errors: ['not_found'],
    etag: 'change',
  })
  delete(@Mutation() mutation: MutationRequest, @Param('id') id: string, @IfMatch() ifMatch?: string): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await deleteChannel(tx, caller, id, { ifMatch });
      return { body: undefined };
    });
  }

  @Post('/:id/test')
  @Endpoint({
    summary: 'Send a test message to a notification channel',
    description:
      'The message is sent even if the channel is disabled, and to a channel with any `events`. The field ' +
      '`lastTest` of the channel then contains the result of each recipient.',
    access: allowSessions('webhooks.admin'),
    answer: NotificationTestStarted,
    status: 202,
    errors: ['not_found'],
    idempotent: true,
  })
  test(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<NotificationTestStarted> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const messages = await sendTestToChannel(tx, caller, id, this.clock.now());
      return { body: { messages }, location: `/api/notification-channels/${id}` };
    });
  }
}
