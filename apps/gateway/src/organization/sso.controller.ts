import { Body, Controller, Delete, Get, Inject, Post, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  allowSessions,
  deleteSsoSettings,
  type DomainRow,
  Endpoint,
  IdentityProviders,
  listDomainProofs,
  Mutation,
  MutationRequest,
  Mutations,
  readSsoProvider,
  OrganizationId,
  proveDomain,
  putSsoSettings,
  readSsoSettings,
  buildDomainProofRecord,
  requireDomainRecord,
  SignInConfig,
  type SsoSettings,
  TxtRecords,
} from '@muster/access';
import { ProveDomainBody, PutSsoBody, Sso, SsoDomain, SsoTest } from '@muster/contracts';
import { Database } from '@muster/database';
import { KeyRing } from '@muster/vault';
import { getRedirectUri } from '../auth/redirect-uri';

@ApiTags('Organization')
@Controller('/api/organization/sso')
export class OrganizationSsoController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(IdentityProviders) private readonly providers: IdentityProviders,
    @Inject(TxtRecords) private readonly records: TxtRecords,
    @Inject(SignInConfig) private readonly config: SignInConfig,
  ) {}

  @Get()
  @Endpoint({
    summary: 'Read the organization’s single sign-on',
    description: 'The client secret is never returned.',
    access: allowSessions('settings.admin'),
    answer: Sso,
    errors: ['not_found'],
  })
  async read(@OrganizationId() organizationId: string): Promise<Sso> {
    return this.present(organizationId, await readSsoSettings(this.database, organizationId));
  }

  @Put()
  @Endpoint({
    summary: 'Set the organization’s single sign-on',
    description:
      'Users whose email domain is in `domains` and proved can then sign in with the OpenID Connect provider. Their ' +
      'accounts are created at the first sign-in.',
    access: allowSessions('settings.admin'),
    sensitive: true,
    body: PutSsoBody,
    answer: Sso,
    errors: ['conflict'],
  })
  async put(
    @Mutation() mutation: MutationRequest,
    @OrganizationId() organizationId: string,
    @Body() body: PutSsoBody,
  ): Promise<Sso> {
    const settings = await this.mutations.runMutation(
      mutation,
      async (tx, caller) => ({ body: await putSsoSettings(tx, this.keyRing, caller, body) }),
      { scope: 'system' },
    );
    return this.present(organizationId, settings);
  }

  @Delete()
  @Endpoint({
    summary: 'Remove the organization’s single sign-on',
    description: 'Users sign in with passwords and passkeys again. Open sessions and the proofs of the domains stay.',
    access: allowSessions('settings.admin'),
    sensitive: true,
    status: 204,
    errors: ['not_found'],
  })
  delete(@Mutation() mutation: MutationRequest): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await deleteSsoSettings(tx, caller);
      return { body: undefined };
    });
  }

  @Post('/test')
  @Endpoint({
    summary: 'Test the organization’s single sign-on',
    description:
      'Reads the configuration and the keys of the provider and presents the client ID and the client secret to it. No ' +
      'user signs in. `message` is a sentence that states the fault.',
    access: allowSessions('settings.admin'),
    sensitive: true,
    answer: SsoTest,
    errors: ['not_found'],
  })
  async test(@OrganizationId() organizationId: string): Promise<SsoTest> {
    const provider = await readSsoProvider(this.database, this.keyRing, organizationId);
    const fault = await this.providers.findProviderFault(provider, getRedirectUri(this.config));
    if (fault !== null) return { ok: false, message: `The provider cannot be used: ${fault}.` };
    return { ok: true, message: 'The provider answers and accepts the client ID and the client secret.' };
  }

  @Post('/domain-proof')
  @Endpoint({
    summary: 'Prove an email domain by its DNS record',
    description:
      'Reads the TXT record `recordName` of the domain, which must have the value `recordValue`. The record must stay ' +
      'only until the domain is proved.',
    access: allowSessions('settings.admin'),
    sensitive: true,
    body: ProveDomainBody,
    answer: SsoDomain,
    errors: ['not_found', 'conflict'],
  })
  async prove(
    @Mutation() mutation: MutationRequest,
    @OrganizationId() organizationId: string,
    @Body() { domain }: ProveDomainBody,
  ): Promise<SsoDomain> {
    await requireDomainRecord(this.database, this.records, { organizationId, domain });
    const row = await this.mutations.runMutation(
      mutation,
      async (tx, caller) => ({ body: await proveDomain(tx, caller, domain) }),
      { scope: 'system' },
    );
    return presentDomain(row);
  }

  private async present(organizationId: string, settings: SsoSettings): Promise<Sso> {
    const domains = await listDomainProofs(this.database, organizationId, settings.domains);
    return { ...settings, redirectUri: getRedirectUri(this.config), domainProofs: domains.map(presentDomain) };
  }
}

function presentDomain(row: DomainRow): SsoDomain {
  const { name: recordName, value: recordValue } = buildDomainProofRecord(row);
  const { domain, provedAt, provedBy } = row;
  return { domain, provedAt: provedAt?.toISOString() ?? null, provedBy, recordName, recordValue };
}
