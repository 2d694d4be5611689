import { Controller, Headers, Inject, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { anyone, Endpoint } from '@muster/access';
import { InboundReceipt } from '@muster/contracts';
import { Database } from '@muster/database';
import { receiveInboundMessage } from '@muster/jobs';
import { BaseConfig, Clock, getPublicAddress, Unparsed, UnparsedBody } from '@muster/platform';
import { KeyRing } from '@muster/vault';

/** Receives the messages with one-time codes that SMS and mail gateways send. */
@ApiTags('Callbacks')
@Controller('/api/inbound')
export class InboundController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(BaseConfig) private readonly config: BaseConfig,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Post('/:id')
  @Endpoint({
    summary: 'Post a message to an inbound address',
    description:
      'Accepts Twilio’s form with X-Twilio-Signature, the inbound forms of Mailgun and SendGrid with their ' +
      'signatures, or JSON {from, text} with x-service-signature. A message that is sent twice is used once, and ' +
      'its code answers at most one question.',
    access: anyone,
    answer: InboundReceipt,
    errors: ['unauthenticated', 'payload_too_large'],
    unparsed: true,
    bodyLimit: 65_536,
  })
  receive(
    @Param('id') id: string,
    @Unparsed() { bytes, contentType = '' }: UnparsedBody,
    @Headers() headers: Record<string, string | string[] | undefined>,
  ): Promise<InboundReceipt> {
    const { database, keyRing } = this;
    const getHeader = (name: string) => [headers[name]].flat()[0];
    const posted = { url: `${getPublicAddress(this.config)}/api/inbound/${id}`, contentType, bytes, header: getHeader };
    return receiveInboundMessage({ database, keyRing }, { inboundId: id, posted, now: this.clock.now() });
  }
}
