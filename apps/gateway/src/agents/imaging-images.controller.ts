import { Body, Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutation, MutationRequest, Mutations, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import { recordBlockedWakeOnError, readImagesStatus, requireDistinctImages, startImaging } from '@muster/commands';
import { CommandStarted, CommandStatusQuery, ImagingImagesBody, ImagingImagesStatus } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { VmConfig } from '@muster/vm';

/** Converts an organization’s image files to JPEG, which browsers and payers can read. */
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
      'The machine reads .dex and TIFF files. It creates two JPEGs of each image: one in the original size and one ' +
      'that fits into 256 × 256 pixels. If an image fails, the others are still converted. Wakes a stopped agent if ' +
      'the organization allows it.',
    access: allowSessionsAndKeys('agents.control'),
    unsuspended: true,
    body: ImagingImagesBody,
    // The limit is sufficient for 4,000 file names of 255 characters each, with their JSON escapes.
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
    requireDistinctImages(body);
    const { imagingPath, patimageid, images } = body;
    const work = this.mutations.runMutation(mutation, async (tx, caller) => {
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
    return recordBlockedWakeOnError(this.database, work);
  }

  @Get('/status')
  @Endpoint({
    summary: 'Read a conversion’s status',
    reads: 'imaging',
    description:
      'After the conversion has ended, returns each image with its object keys and URLs. Every read signs new URLs, ' +
      'which are valid for an hour.',
    access: allowSessionsAndKeys('runs.read'),
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
