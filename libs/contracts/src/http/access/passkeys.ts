import { DateTimeField, IntField, JsonField, JsonListField, ListField, TextField, UuidField } from '../fields';

const challenge = {
  example: 'jY7fM2kq0h8v3s5w7y9bA1cD3eF5gH7iJ9kL1mN3oP4',
  description: 'Challenge that is valid once, for 5 minutes.',
};

/** Options for `PublicKeyCredential.parseCreationOptionsFromJSON` in the JSON format of WebAuthn. */
export class PasskeyCreationOptions {
  @TextField(challenge) challenge!: string;
  @JsonField({ example: { id: 'muster.example.com', name: 'Muster' } }) rp!: Record<string, unknown>;
  @JsonField({ example: { id: 'AZLwxHuOfTqcVS9Ka4wNHg', name: 'dana@example.com', displayName: 'dana@example.com' } })
  user!: Record<string, unknown>;
  @JsonListField({ example: [{ alg: -7, type: 'public-key' }] }) pubKeyCredParams!: Record<string, unknown>[];
  @IntField({ example: 300_000, description: 'Timeout in milliseconds.' }) timeout!: number;
  @JsonListField({ description: 'Passkeys that the caller already has.', example: [] })
  excludeCredentials!: Record<string, unknown>[];
  @JsonField({ example: { residentKey: 'required', userVerification: 'required' } })
  authenticatorSelection!: Record<string, unknown>;
  @TextField({ example: 'none' }) attestation!: string;
}

/** Options for `PublicKeyCredential.parseRequestOptionsFromJSON`. They list no passkeys, so the browser offers all. */
export class PasskeyRequestOptions {
  @TextField(challenge) challenge!: string;
  @TextField({ example: 'muster.example.com' }) rpId!: string;
  @IntField({ example: 300_000, description: 'Timeout in milliseconds.' }) timeout!: number;
  @TextField({ example: 'required' }) userVerification!: string;
}

export class PasskeySignInBody {
  @JsonField({ description: 'JSON response of the browser to the options of POST /api/auth/passkeys/options.' })
  response!: Record<string, unknown>;
}

export class CreatePasskeyBody extends PasskeySignInBody {
  @TextField({ max: 100, visible: true, example: 'Telephone' }) name!: string;
}

/** One of the caller's passkeys. */
export class Passkey {
  @UuidField() id!: string;
  @TextField({ example: 'Telephone' }) name!: string;
  @DateTimeField() createdAt!: string;
  @DateTimeField({ nullable: true }) lastUsedAt!: string | null;
}

export class PasskeyList {
  @ListField(() => Passkey) passkeys!: Passkey[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}
