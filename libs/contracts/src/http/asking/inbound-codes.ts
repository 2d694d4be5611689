import { BooleanField, DateTimeField, ListField, ObjectField, TextField, TextListField, UuidField } from '../fields';
import { IgnoreUnknownFields } from '../unknown-fields';

@IgnoreUnknownFields()
export class GiveTotpBody {
  @TextField({ max: 128, example: 'DD_TOTP', description: 'Key of a vault secret of the kind totp.' }) key!: string;
}

export class GivenTotp {
  @TextField({ max: 10, example: '287082' }) code!: string;
  @DateTimeField() validFrom!: string;
  @DateTimeField() validUntil!: string;
  @DateTimeField({ description: 'Same as validUntil.' }) expiresAt!: string;
}

const gatewayKey = { optional: true, min: 8, max: 1000 };

/** Keys of message gateways. Messages in the form of a gateway are accepted only with its key. */
export class GatewayKeys {
  @TextField({ ...gatewayKey, example: '0123456789abcdef0123456789abcdef', description: 'Auth token of Twilio.' })
  twilio?: string;
  @TextField({ ...gatewayKey, example: 'key-0123456789abcdef', description: 'HTTP webhook signing key of Mailgun.' })
  mailgun?: string;
  @TextField({
    ...gatewayKey,
    example:
      'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==',
    description: 'Public key of SendGrid’s signed webhook (ECDSA), as base64.',
  })
  sendgrid?: string;
}

export class CreateInboundCodeBody {
  @TextField({
    max: 100,
    visible: true,
    example: 'payer-phone',
    description: 'Name of the inbound address, as used in muster.ask(inbound=…).',
  })
  name!: string;
  @TextField({
    optional: true,
    nullable: true,
    max: 200,
    example: null,
    description:
      'Regular expression that finds the code in a message. The code is its first group, or the whole match if it ' +
      'has no group. When absent, the code is the first number of 4 to 8 digits.',
  })
  pattern?: string | null;
  @TextListField({
    optional: true,
    nullable: true,
    maxItems: 50,
    max: 254,
    example: [],
    description: 'Senders whose messages are accepted. When absent or empty, messages of all senders are accepted.',
  })
  senders?: string[] | null;
  @ObjectField(() => GatewayKeys, { optional: true, description: 'Keys with which message gateways sign.' })
  gatewayKeys?: GatewayKeys;
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
  @TextField({
    max: 1000,
    example: 'mic_1f0c…',
    description:
      'Secret that signs messages in the JSON form. Store the secret now, because no later response contains it.',
  })
  secret!: string;
}

export class InboundCodeList {
  @ListField(() => InboundCode) inboundCodes!: InboundCode[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class InboundMessage {
  @TextField({ max: 254, example: '+15551234567', description: 'Sender of the message.' }) from!: string;
  @TextField({ max: 100, example: '482913', description: 'Code in the message.' }) code!: string;
  @DateTimeField() receivedAt!: string;
  @DateTimeField({ description: 'Time at which the code is deleted.' }) expiresAt!: string;
}

export class InboundMessageList {
  @ListField(() => InboundMessage) messages!: InboundMessage[];
}

export class InboundReceipt {
  @BooleanField({ description: 'Whether the message was accepted.' }) accepted!: boolean;
  @TextField({
    optional: true,
    example: 'replayed',
    description:
      'Reason for the rejection. replayed: the message was received before. no_code: the message contains no code. ' +
      'sender: the sender of the message is not allowed.',
  })
  reason?: string;
}
