import { DateTimeField, IntField, JsonField, JsonListField, ListField, TextField, UuidField } from '../fields';

const challenge = { example: 'jY7fM2kq0h8v3s5w7y9bA1cD3eF5gH7iJ9kL1mN3oP4', description: 'Good once, for 5 minutes.' };

/** For `PublicKeyCredential.parseCreationOptionsFromJSON`, as WebAuthn writes it. */
export class PasskeyCreationOptions {
  @TextField(challenge) challenge!: string;
  @JsonField({ example: { id: 'muster.example.com', name: 'Muster' } }) rp!: Record<string, unknown>;
  @JsonField({ example: { id: 'AZLwxHuOfTqcVS9Ka4wNHg', name: 'dana@example.com', displayName: 'dana@example.com' } })
  user!: Record<string, unknown>;
  @JsonListField({ example: [{ alg: -7, type: 'public-key' }] }) pubKeyCredParams!: Record<string, unknown>[];
  @IntField({ example: 300_000, description: 'In milliseconds.' }) timeout!: number;
  @JsonListField({ description: 'The passkeys that the caller has.', example: [] })
  excludeCredentials!: Record<string, unknown>[];
  @JsonField({ example: { residentKey: 'required', userVerification: 'required' } })
  authenticatorSelection!: Record<string, unknown>;
  @TextField({ example: 'none' }) attestation!: string;
}

/** For `PublicKeyCredential.parseRequestOptionsFromJSON`. It names no passkey, so the browser offers all that it has. */
export class PasskeyRequestOptions {
  @TextField(challenge) challenge!: string;
  @TextField({ example: 'muster.example.com' }) rpId!: string;
  @IntField({ example: 300_000, description: 'In milliseconds.' }) timeout!: number;
  @TextField({ example: 'required' }) userVerification!: string;
}

export class PasskeySignInBody {
  @JsonField({ description: 'What the browser answered to the options, as JSON.' })
  response!: Record<string, unknown>;
}

export class CreatePasskeyBody extends PasskeySignInBody {
  @TextField({ max: 100, visible: true, example: 'Telephone' }) name!: string;
}

/** One of the caller's own. */
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
