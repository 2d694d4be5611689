import { Body, Controller, Inject, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Caller, Endpoint, type Principal, workers } from '@muster/access';
import { requestUpload } from '@muster/commands';
import { requireOwnAgent } from '@muster/machines';
import { UploadBody, UploadTicket } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';

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
    summary: 'Request an upload URL for a file',
    description:
      'Upload the file to `uploadUrl` with the returned method and headers. A file can have at most 100 MiB. Send a ' +
      'smaller one.',
    access: workers,
    body: UploadBody,
    answer: UploadTicket,
    status: 201,
    errors: ['agent_not_found', 'not_found'],
  })
  request(@Caller() caller: Principal, @Param('id') agentId: string, @Body() body: UploadBody): Promise<UploadTicket> {
    requireOwnAgent(caller, agentId);
    const agentRef = { organizationId: caller.organizationId, agentId };
    return requestUpload(this.database, this.storage, agentRef, body, this.clock.now());
  }
}
