import { Body, Controller, Inject, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { anyone, Browser, Endpoint, FromBrowser, Passwords, resetPassword, SignInConfig } from '@muster/access';
import { ForgotAnswer, ForgotBody, ResetPasswordBody, SuccessAnswer } from '@muster/contracts';
import { Database } from '@muster/database';
import { Attempts, ClientAddress } from '@muster/platform';
import { SmtpConfig } from '@muster/webhooks';
import { ResetRequests } from './reset-requests';

@ApiTags('Sessions')
@Controller('/api/auth')
export class ForgottenPasswordsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Attempts) private readonly attempts: Attempts,
    @Inject(Passwords) private readonly passwords: Passwords,
    @Inject(SignInConfig) private readonly config: SignInConfig,
    @Inject(SmtpConfig) private readonly smtp: SmtpConfig,
    @Inject(ResetRequests) private readonly requests: ResetRequests,
  ) {}

  @Post('/forgot')
  @Endpoint({
    summary: 'Request a link to set a new password',
    description:
      'If an account with this email address exists, it gets a mail with a link. The response is the same for every ' +
      'address. A newer link replaces the older one. An account gets at most 20 mails a minute.',
    access: anyone,
    body: ForgotBody,
    answer: ForgotAnswer,
    status: 202,
    errors: ['permission_denied'],
  })
  forgot(@FromBrowser() browser: Browser, @Body() { email }: ForgotBody): ForgotAnswer {
    browser.requireSameOrigin(this.config);
    const sendsMail = this.smtp.smtpUrl !== undefined;
    if (sendsMail) this.requests.startLinkCreation(email);
    return { sendsMail };
  }

  @Post('/reset')
  @Endpoint({
    summary: 'Set a new password with a link',
    description:
      'Uses the token of the link that POST /api/auth/forgot sent. Ends all sessions of the account and revokes the ' +
      'keys that programs received from the user in the browser. The user is not signed in by this request, and ' +
      'needs the second factor at the next sign-in.',
    access: anyone,
    body: ResetPasswordBody,
    answer: SuccessAnswer,
    errors: ['unauthenticated', 'permission_denied'],
  })
  async reset(
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Body() body: ResetPasswordBody,
  ): Promise<SuccessAnswer> {
    browser.requireSameOrigin(this.config);
    const { database, attempts, passwords, config } = this;
    const failures = { name: 'failed-logins', limit: config.rateLimitFailedLoginsPerMinute, windowSeconds: 60 };
    await resetPassword({ database, attempts, passwords, failures }, { ...body, address });
    return { success: true };
  }
}
