import { Body, Controller, Inject, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  acceptInvitation,
  anyone,
  Browser,
  createInvitation,
  Endpoint,
  FromBrowser,
  Mutation,
  MutationRequest,
  Mutations,
  Passwords,
  allowSessions,
  SignInConfig,
  buildLinkUrl,
} from '@muster/access';
import { AcceptedInvitation, AcceptInvitationBody, CreateInvitationBody, Invitation } from '@muster/contracts';
import { Database } from '@muster/database';
import { Attempts, ClientAddress, getOwnAddress } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { SmtpConfig } from '@muster/webhooks';

@ApiTags('Users')
@Controller('/api/invitations')
export class InvitationsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Attempts) private readonly attempts: Attempts,
    @Inject(Passwords) private readonly passwords: Passwords,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(SignInConfig) private readonly config: SignInConfig,
    @Inject(SmtpConfig) private readonly smtp: SmtpConfig,
  ) {}

  @Post()
  @Endpoint({
    summary: 'Invite a person by e-mail',
    description:
      'Sends a mail with a link, on which the person chooses a password. The link is valid for seven days, works once, ' +
      'and is not shown again. A newer invitation of the same address replaces the older one.',
    access: allowSessions('users.admin'),
    sensitive: true,
    unsuspended: true,
    body: CreateInvitationBody,
    answer: Invitation,
    status: 201,
    errors: ['conflict'],
  })
  create(@Mutation() mutation: MutationRequest, @Body() { email, role }: CreateInvitationBody): Promise<Invitation> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const invitation = await createInvitation(tx, caller, { keyRing: this.keyRing, email, role });
      return {
        body: {
          ...{ id: invitation.id, email: invitation.email, role: invitation.role },
          link: buildLinkUrl(getOwnAddress(this.config), 'invitation', invitation.token),
          expiresAt: invitation.expiresAt.toISOString(),
          sendsMail: this.smtp.smtpUrl !== undefined,
        },
      };
    });
  }

  @Post('/accept')
  @Endpoint({
    summary: 'Accept an invitation',
    description: 'Creates the account with the password. The person then signs in.',
    access: anyone,
    body: AcceptInvitationBody,
    answer: AcceptedInvitation,
    errors: ['unauthenticated', 'permission_denied'],
  })
  accept(
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Body() body: AcceptInvitationBody,
  ): Promise<AcceptedInvitation> {
    browser.requireSameOrigin(this.config);
    const { database, attempts, passwords, config } = this;
    const failures = { name: 'failed-logins', limit: config.rateLimitFailedLoginsPerMinute, windowSeconds: 60 };
    return acceptInvitation({ database, attempts, passwords, failures }, { ...body, address });
  }
}
