import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { anyone, Browser, Endpoint, FromBrowser, SignInConfig } from '@muster/access';
import { AnswerByLinkBody, AnswerLinkBody, LinkedQuestion } from '@muster/contracts';
import { Database } from '@muster/database';
import { answerQuestion, findByAnswerLink, presentLinkedQuestion } from '@muster/jobs';
import { Attempts, ClientAddress } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { KeyRing } from '@muster/vault';

/**
 * Lets a person answer a question without an account, by the link in a message. The token is sent only in request
 * bodies: paths are logged, and programs that open links automatically, such as mail scanners, send no bodies.
 */
@ApiTags('Questions')
@Controller('/api/answer-links')
export class AnswerLinksController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Attempts) private readonly attempts: Attempts,
    @Inject(SignInConfig) private readonly config: SignInConfig,
  ) {}

  @Post('/read')
  @HttpCode(200)
  @Endpoint({
    summary: 'Read the question of an answer link',
    description: 'The question is not changed.',
    access: anyone,
    body: AnswerLinkBody,
    answer: LinkedQuestion,
    errors: ['permission_denied', 'not_found', 'rate_limited'],
  })
  async read(
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Body() { token }: AnswerLinkBody,
  ): Promise<LinkedQuestion> {
    const { row } = await this.findQuestion(browser, address, token);
    return presentLinkedQuestion(row, this.storage);
  }

  @Post('/answer')
  @HttpCode(200)
  @Endpoint({
    summary: 'Answer a question by its link',
    description: 'A question can be answered once, as with POST /api/questions/{id}/answer.',
    access: anyone,
    body: AnswerByLinkBody,
    answer: LinkedQuestion,
    errors: ['permission_denied', 'not_found', 'already_answered', 'question_over', 'rate_limited'],
  })
  async answer(
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Body() { token, answer }: AnswerByLinkBody,
  ): Promise<LinkedQuestion> {
    const { row, answerer } = await this.findQuestion(browser, address, token);
    const { organizationId, id } = row;
    const answered = await this.database.transaction({ organizationId }, (tx) =>
      answerQuestion(tx, this.keyRing, answerer, { id, answer }),
    );
    return presentLinkedQuestion(answered, this.storage);
  }

  /** The number of wrong tokens per client address is limited, in the same way as failed sign-ins. */
  private async findQuestion(browser: Browser, address: string, token: string) {
    browser.requireSameOrigin(this.config);
    const policy = { name: 'answer-links', limit: this.config.rateLimitFailedLoginsPerMinute, windowSeconds: 60 };
    const attempt = await this.attempts.countAttempt(policy, [`address:${address}`]);
    const found = await findByAnswerLink(this.database, this.keyRing, token);
    attempt.forgive();
    return found;
  }
}
