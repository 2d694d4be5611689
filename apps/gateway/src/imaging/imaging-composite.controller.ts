import { Body, Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutation, MutationRequest, Mutations, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import { recordBlockedWakeOnError, readCompositeStatus, startComposite } from '@muster/commands';
import { CommandStarted, CommandStatusQuery, ImagingCompositeBody, ImagingCompositeStatus } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { KeyRing } from '@muster/vault';
import { VmConfig } from '@muster/vm';

@ApiTags('Imaging')
@Controller('/api/agents/:id/imaging-composite')
export class ImagingCompositeController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(VmConfig) private readonly vm: VmConfig,
  ) {}

  @Post()
  @Endpoint({
    summary: 'Build a labelled image of a patient’s teeth',
    description:
      'Starts a command on the agent. The worker searches for the patient in the database of the practice and uses ' +
      'the newest image of each requested tooth. A tooth without an image becomes a placeholder. If several ' +
      'patients match, the command fails, and its error contains no name of a patient.',
    access: allowSessionsAndKeys('agents.control'),
    unsuspended: true,
    body: ImagingCompositeBody,
    answer: CommandStarted,
    status: 202,
    errors: ['agent_not_found', 'agent_not_ready', 'machine_cannot'],
    idempotent: true,
  })
  start(
    @Mutation() mutation: MutationRequest,
    @Param('id') agentId: string,
    @Body() body: ImagingCompositeBody,
  ): Promise<CommandStarted> {
    const { keyRing, clock } = this;
    const { wakeTimeoutMs } = this.vm;
    const work = this.mutations.runMutation(mutation, async (tx, caller) => {
      const commandId = await startComposite(tx, caller, agentId, body, { keyRing, wakeTimeoutMs, now: clock.now() });
      return {
        body: { commandId },
        location: `/api/agents/${agentId}/imaging-composite/status?commandId=${commandId}`,
      };
    });
    return recordBlockedWakeOnError(this.database, work);
  }

  @Get('/status')
  @Endpoint({
    summary: 'Read the status of an imaging composite',
    description:
      'After a success, the output contains JSON between __IMAGING_COMP_START__ and __IMAGING_COMP_END__. The ' +
      'fields of this JSON object are composite_key, patient {patimageid, chart, name}, teeth_found, teeth_missing ' +
      'and lines_skipped.',
    reads: 'imaging',
    access: allowSessionsAndKeys('runs.read'),
    answer: ImagingCompositeStatus,
    errors: ['invalid_payload', 'agent_not_found', 'not_found'],
  })
  status(
    @OrganizationId() organizationId: string,
    @Param('id') agentId: string,
    @Query() { commandId }: CommandStatusQuery,
  ): Promise<ImagingCompositeStatus> {
    return readCompositeStatus(this.database, this.storage, { organizationId, agentId, commandId });
  }
}
