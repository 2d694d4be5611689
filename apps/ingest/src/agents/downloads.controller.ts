import { Body, Controller, Inject, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Caller, Endpoint, type Principal, workers } from '@muster/access';
import { presignExtension } from '@muster/commands';
import { requireOwnAgent } from '@muster/machines';
import { DownloadBody, DownloadTicket } from '@muster/contracts';
import { Database } from '@muster/database';
import { findDeployableBundle } from '@muster/packs';
import { Clock } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';

@ApiTags('Machines')
@Controller('/api/agents/:id/downloads')
export class DownloadsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Post()
  @Endpoint({
    summary: 'Request a download URL for a command',
    description:
      'Returns the URL of the browser extension that a deploy_extension command installs. The extension is an ' +
      'artifact or the bundle of a pack. The URL needs no credentials and is valid for 15 minutes.',
    access: workers,
    body: DownloadBody,
    answer: DownloadTicket,
    status: 200,
    errors: ['not_found', 'conflict'],
  })
  request(
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Body() { commandId }: DownloadBody,
  ): Promise<DownloadTicket> {
    requireOwnAgent(caller, agentId);
    const commandRef = { organizationId: caller.organizationId, agentId, commandId };
    const { database, storage } = this;
    const findInPacks = (organizationId: string, key: string) => findDeployableBundle(database, organizationId, key);
    return presignExtension({ database, storage, findInPacks }, commandRef, this.clock.now());
  }
}
