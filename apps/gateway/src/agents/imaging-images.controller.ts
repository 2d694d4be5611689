import { Body, Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutation, MutationRequest, Mutations, OrganizationId, sessionsAndKeysOf } from '@muster/access';
import { explainingBlocked, readImagesStatus, requireDistinct, startImaging } from '@muster/agents';
import { CommandStarted, CommandStatusQuery, ImagingImagesBody, ImagingImagesStatus } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { VmConfig } from '@muster/vm';

/** Image files of a practice, made pictures that a browser and a payer can read. */
@ApiTags('Imaging')
@Controller('/api/agents/:id/imaging-images')
export class ImagingImagesController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(VmConfig) private readonly vm: VmConfig,
  ) {}

  @Post()
  @Endpoint({
    summary: 'Convert image files to JPEG',
    description:
      'The machine reads .dex and TIFF files, and makes of each a JPEG of its size and one within 256 × 256. Each image ' +
      'fails by itself. A stopped agent is woken for it, where the organization allows that.',
    access: sessionsAndKeysOf('member'),
    unsuspended: true,
    body: ImagingImagesBody,
    // 4,000 names of 255 letters each, and what JSON makes of them.
    bodyLimit: 8 * 1024 * 1024,
    answer: CommandStarted,
    status: 202,
    errors: ['agent_not_found', 'agent_not_ready', 'machine_cannot'],
    idempotent: true,
  })
  convert(
    @Mutation() mutation: MutationRequest,
    @Param('id') agentId: string,
    @Body() body: ImagingImagesBody,
  ): Promise<CommandStarted> {
    requireDistinct(body);
    const { imagingPath, patimageid, images } = body;
    const work = this.mutations.run(mutation, async (tx, caller) => {
      const commandId = await startImaging(tx, caller, agentId, {
        kind: 'imaging_images',
        payload: { imagingPath, patimageid, images },
        wakeTimeoutMs: this.vm.wakeTimeoutMs,
        now: this.clock.now(),
      });
      return {
        body: { commandId },
        location: `/api/agents/${agentId}/imaging-images/status?commandId=${commandId}`,
      };
    });
    return explainingBlocked(this.database, work);
  }

  @Get('/status')
  @Endpoint({
    summary: 'How a conversion stands',
    reads: 'imaging',
    description: 'Once it is over, each image with its keys, and with URLs that are signed anew by every read.',
    access: sessionsAndKeysOf('viewer'),
    answer: ImagingImagesStatus,
    errors: ['invalid_payload', 'agent_not_found', 'not_found'],
  })
  status(
    @OrganizationId() organizationId: string,
    @Param('id') agentId: string,
    @Query() { commandId }: CommandStatusQuery,
  ): Promise<ImagingImagesStatus> {
    return readImagesStatus(this.database, this.storage, { organizationId, agentId, commandId });
  }
}
