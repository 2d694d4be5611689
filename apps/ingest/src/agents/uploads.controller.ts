import { Body, Controller, Inject, Param, Post, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, principalOf, workers } from '@muster/access';
import { requestUpload, requireOwnAgent } from '@muster/agents';
import { UploadBody, UploadTicket } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import type { FastifyRequest } from 'fastify';

@ApiTags('Machines')
@Controller('/api/agents/:id/uploads')
export class UploadsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Post()
  @Endpoint({
    summary: 'Ask where to send a file',
    description: 'The file goes to uploadUrl, by the method and with the headers that are answered.',
    access: workers,
    body: UploadBody,
    answer: UploadTicket,
    status: 201,
    errors: ['agent_not_found', 'not_found'],
  })
  request(
    @Req() request: FastifyRequest,
    @Param('id') agentId: string,
    @Body() body: UploadBody,
  ): Promise<UploadTicket> {
    const caller = principalOf(request);
    requireOwnAgent(caller, agentId);
    const of = { organizationId: caller.organizationId, agentId };
    return requestUpload(this.database, this.storage, of, body, this.clock.now());
  }
}
