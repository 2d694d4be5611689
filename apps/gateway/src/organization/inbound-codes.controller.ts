import { Body, Controller, Delete, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Caller,
  Endpoint,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  type Principal,
  allowSessions,
} from '@muster/access';
import {
  CreateInboundCodeBody,
  type InboundCode,
  InboundCodeList,
  InboundCodeWithSecret,
  InboundMessageList,
  PageQuery,
} from '@muster/contracts';
import { Database } from '@muster/database';
import {
  createInboundCode,
  deleteInboundCode,
  type InboundCodeRow,
  listInboundCodes,
  listMessages,
} from '@muster/jobs';
import { BaseConfig, parsePage, buildPage, getPublicAddress } from '@muster/platform';
import { KeyRing } from '@muster/vault';

@ApiTags('Questions')
@Controller('/api/inbound-codes')
export class InboundCodesController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(BaseConfig) private readonly config: BaseConfig,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List inbound addresses for codes',
    access: allowSessions('vault.write'),
    answer: InboundCodeList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: PageQuery): Promise<InboundCodeList> {
    const page = parsePage(query, 'id');
    const rows = await listInboundCodes(this.database, organizationId, page);
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { inboundCodes: items.map((row) => this.presentInboundCode(row)), nextCursor };
  }

  @Post()
  @Endpoint({
    summary: 'Create an inbound address for codes',
    description:
      'An SMS or mail gateway posts messages with one-time codes to the address, signed with the key in `gatewayKeys`. ' +
      'Other programs sign the JSON form `{from, text}` with the secret in the response, which is not shown again.',
    access: allowSessions('vault.write'),
    body: CreateInboundCodeBody,
    answer: InboundCodeWithSecret,
    status: 201,
    errors: ['conflict'],
    idempotent: true,
  })
  create(@Mutation() mutation: MutationRequest, @Body() body: CreateInboundCodeBody): Promise<InboundCodeWithSecret> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const { row, secret } = await createInboundCode(tx, this.keyRing, caller, body);
      return { body: { ...this.presentInboundCode(row), secret }, location: '/api/inbound-codes' };
    });
  }

  @Get('/:id/messages')
  @Endpoint({
    summary: 'List the messages of an inbound address that no question has used',
    description: 'A code is deleted 10 minutes after it arrived. Reading the codes is recorded in the audit log.',
    access: allowSessions('vault.write'),
    answer: InboundMessageList,
    errors: ['not_found'],
  })
  async messages(@Caller() caller: Principal, @Param('id') id: string): Promise<InboundMessageList> {
    const scope = { organizationId: caller.organizationId };
    return this.database.transaction(scope, async (tx) => ({
      messages: await listMessages(tx, this.keyRing, caller, id),
    }));
  }

  @Delete('/:id')
  @Endpoint({
    summary: 'Delete an inbound address',
    description: 'Later messages to the address are rejected.',
    access: allowSessions('vault.write'),
    status: 204,
    errors: ['not_found'],
  })
  delete(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await deleteInboundCode(tx, caller, id);
      return { body: undefined };
    });
  }

  private presentInboundCode({ id, name, pattern, senders, createdAt }: InboundCodeRow): InboundCode {
    const url = `${getPublicAddress(this.config)}/api/inbound/${id}`;
    return { id, name, url, pattern, senders, createdAt: createdAt.toISOString() };
  }
}
