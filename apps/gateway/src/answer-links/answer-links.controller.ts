import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { anyone, Browser, Endpoint, FromBrowser, SignInConfig } from '@muster/access';
import { AnswerByLinkBody, AnswerLinkBody, LinkedQuestion } from '@muster/contracts';
import { presentLinkedQuestion } from '@muster/jobs';
import { ClientAddress } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { AnswerLinks } from './answer-links';

/**
 * Lets a program answer a question by the link in a message, without an account. People use the link's page
 * (`AnswerPageRoutes`).
 */
@ApiTags('Questions')
@Controller('/api/answer-links')
export class AnswerLinksController {
  constructor(
    @Inject(AnswerLinks) private readonly links: AnswerLinks,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
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
    browser.requireSameOrigin(this.config);
    const { row } = await this.links.findQuestion(address, token);
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
    browser.requireSameOrigin(this.config);
    const found = await this.links.findQuestion(address, token);
    return presentLinkedQuestion(await this.links.answerQuestion(found, answer), this.storage);
  }
}
