import { Body, Controller, Get, Inject, Patch } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Endpoint,
  IfMatch,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  presentOrganizationSettings,
  readSettings,
  allowSessionsAndKeys,
  allowSessions,
  deriveSigningSecrets,
  updateSettings,
  signedIn,
} from '@muster/access';
import { OrganizationSettings, SigningSecret, UpdateOrganizationSettingsBody } from '@muster/contracts';
import { Database } from '@muster/database';
import { enqueueWaitingAgents } from '@muster/jobs';
import { toEtag, Reply, ReplyHead } from '@muster/platform';
import { KeyRing } from '@muster/vault';

@ApiTags('Organization')
@Controller('/api/organization')
export class OrganizationController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
  ) {}

  @Get('/settings')
  @Endpoint({
    summary: 'Read the organization’s settings',
    access: allowSessionsAndKeys(signedIn),
    answer: OrganizationSettings,
    etag: 'read',
  })
  async settings(@Reply() reply: ReplyHead, @OrganizationId() organizationId: string): Promise<OrganizationSettings> {
    const settings = await readSettings(this.database, organizationId);
    reply.setEtag(settings.revision);
    return presentOrganizationSettings(settings);
  }

  @Patch('/settings')
  @Endpoint({
    summary: 'Change the organization’s settings',
    access: allowSessions('settings.admin'),
    sensitive: true,
    body: UpdateOrganizationSettingsBody,
    answer: OrganizationSettings,
    etag: 'change',
  })
  update(
    @Mutation() mutation: MutationRequest,
    @Body() body: UpdateOrganizationSettingsBody,
    @IfMatch() ifMatch: string | undefined,
  ): Promise<OrganizationSettings> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const settings = await updateSettings(tx, caller, body, ifMatch);
      await enqueueWaitingAgents(tx, caller.organizationId);
      return { body: presentOrganizationSettings(settings), etag: toEtag(settings.revision) };
    });
  }

  @Get('/signing-secret')
  @Endpoint({
    summary: 'Read the signing secret',
    description:
      'Workers sign their reports with this secret, and the service signs its calls to workers with it. A worker whose key ' +
      'is bound to an agent signs with a secret of that agent instead.',
    access: allowSessions('keys.admin'),
    answer: SigningSecret,
  })
  signingSecret(@OrganizationId() organizationId: string): SigningSecret {
    const [active] = deriveSigningSecrets(this.keyRing, organizationId);
    return { signingSecret: active! };
  }
}
