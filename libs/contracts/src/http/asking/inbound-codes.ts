import { BooleanField, DateTimeField, ListField, TextField, TextListField, UuidField } from '../fields';
import { IgnoreUnknownFields } from '../unknown-fields';

@IgnoreUnknownFields()
export class GiveTotpBody {
  @TextField({ max: 128, example: 'DD_TOTP', description: 'A vault entry of the kind totp.' }) key!: string;
}

export class GivenTotp {
  @TextField({ max: 10, example: '287082' }) code!: string;
  @DateTimeField() validFrom!: string;
  @DateTimeField() validUntil!: string;
}

export class CreateInboundCodeBody {
  @TextField({ max: 100, visible: true, example: 'payer-phone', description: 'As muster.ask(inbound=…) names it.' })
  name!: string;
  @TextField({
    optional: true,
    nullable: true,
    max: 200,
    example: null,
    description: 'A regular expression whose first group is the code; a word of 4 to 8 digits when absent.',
  })
  pattern?: string | null;
  @TextListField({
    optional: true,
    nullable: true,
    maxItems: 50,
    max: 254,
    example: [],
    description: 'Whose messages count; everybody’s when absent.',
  })
  senders?: string[] | null;
  @TextField({
    optional: true,
    nullable: true,
    min: 8,
    max: 1000,
    example: null,
    description:
      'What the gateway signs with: Twilio’s auth token, Mailgun’s signing key, SendGrid’s public key. One is made when absent.',
  })
  secret?: string | null;
}

export class InboundCode {
  @UuidField() id!: string;
  @TextField({ max: 100, example: 'payer-phone' }) name!: string;
  @TextField({ max: 2048, example: 'https://muster.example.com/api/inbound/0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e' })
  url!: string;
  @TextField({ nullable: true, max: 200, example: null }) pattern!: string | null;
  @TextListField({ max: 254, example: [] }) senders!: string[];
  @DateTimeField() createdAt!: string;
}

export class InboundCodeWithSecret extends InboundCode {
  @TextField({ max: 1000, example: 'mic_1f0c…', description: 'Shown this once.' }) secret!: string;
}

export class InboundCodeList {
  @ListField(() => InboundCode) inboundCodes!: InboundCode[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class InboundReceipt {
  @BooleanField({ description: 'Whether it counted.' }) accepted!: boolean;
  @TextField({ optional: true, example: 'replayed', description: 'replayed, no_code, or sender.' }) reason?: string;
}
