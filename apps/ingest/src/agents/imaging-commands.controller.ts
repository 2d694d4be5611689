import { Body, Controller, Inject, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Caller, Endpoint, type Principal, workers } from '@muster/access';
import { recordImagingProgress, requestImagingUploads } from '@muster/commands';
import { requireOwnAgent } from '@muster/machines';
import { CommandProgressBody, CommandReceipt, CommandUploads, CommandUploadsBody } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';

/** Handles the requests that a worker makes while it executes an imaging command. */
@ApiTags('Machines')
@Controller('/api/agents/:id/commands/:commandId')
export class ImagingCommandsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Post('/uploads')
  @Endpoint({
    summary: 'Request upload URLs for an imaging command',
    description:
      'Upload each image to its `uploadUrl` with the returned method and headers. The request can be repeated, for ' +
      'example when the URLs have expired.',
    access: workers,
    body: CommandUploadsBody,
    answer: CommandUploads,
    status: 201,
    errors: ['not_found', 'conflict', 'payload_too_large'],
  })
  uploads(
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Param('commandId') commandId: string,
    @Body() { objects }: CommandUploadsBody,
  ): Promise<CommandUploads> {
    requireOwnAgent(caller, agentId);
    const commandRef = { organizationId: caller.organizationId, agentId, commandId };
    return requestImagingUploads(this.database, this.storage, commandRef, objects, this.clock.now());
  }

  @Post('/progress')
  @Endpoint({
    summary: 'Report the progress of an imaging command',
    description: 'The progress is recorded in the agent’s timeline, as numbers only.',
    access: workers,
    body: CommandProgressBody,
    answer: CommandReceipt,
    errors: ['not_found'],
  })
  progress(
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Param('commandId') commandId: string,
    @Body() body: CommandProgressBody,
  ): Promise<CommandReceipt> {
    requireOwnAgent(caller, agentId);
    return recordImagingProgress(this.database, { organizationId: caller.organizationId, agentId, commandId }, body);
  }
}
