import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

interface Answering {
  /** Origin of the page, as the browser reports it. */
  origin?: string;
  /** Relying party id that the authenticator signs for. */
  rpId?: string;
  challenge?: string;
  userVerified?: boolean;
  /** Signature counter; 0 if the authenticator does not count. */
  counter?: number;
}

/** Answers WebAuthn options like an authenticator with its browser. Each value of an answer can be made wrong. */
export class TestAuthenticator {
  readonly id = randomBytes(16).toString('base64url');
  private readonly keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  private signed = 0;
  userHandle?: string;

  constructor(private readonly page: { origin: string; rpId: string }) {}

  /** Answers the options for a new passkey. */
  createCredential(options: { challenge: string; user: Record<string, unknown> }, answering: Answering = {}) {
    this.userHandle = options.user['id'] as string;
    const length = Buffer.alloc(2);
    const id = Buffer.from(this.id, 'base64url');
    length.writeUInt16BE(id.length);
    const credential = Buffer.concat([Buffer.alloc(16), length, id, encodeCoseKey(this.keys.publicKey)]);
    const authData = Buffer.concat([this.encodeAuthData(0x41, { counter: 0, ...answering }), credential]);
    const attestationObject = Buffer.concat([
      ...[Buffer.of(0xa3), encodeCborText('fmt'), encodeCborText('none'), encodeCborText('attStmt'), Buffer.of(0xa0)],
      ...[encodeCborText('authData'), encodeCborBytes(authData)],
    ]);
    return this.buildAnswer({
      clientDataJSON: this.encodeClientData('webauthn.create', options, answering).toString('base64url'),
      attestationObject: attestationObject.toString('base64url'),
    });
  }

  /** Returns the browser's response to the WebAuthn options of a sign-in. */
  getAssertion(options: { challenge: string }, answering: Answering = {}) {
    const counter = answering.counter ?? (this.signed += 1);
    const authenticatorData = this.encodeAuthData(0x01, { ...answering, counter });
    const clientData = this.encodeClientData('webauthn.get', options, answering);
    const hash = createHash('sha256').update(clientData).digest();
    return this.buildAnswer({
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: authenticatorData.toString('base64url'),
      signature: sign('sha256', Buffer.concat([authenticatorData, hash]), this.keys.privateKey).toString('base64url'),
      userHandle: this.userHandle!,
    });
  }

  private buildAnswer(response: Record<string, string>) {
    return { id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {}, response };
  }

  private encodeClientData(type: string, { challenge }: { challenge: string }, answering: Answering): Buffer {
    const { origin } = { ...this.page, ...answering };
    return Buffer.from(
      JSON.stringify({ type, challenge: answering.challenge ?? challenge, origin, crossOrigin: false }),
    );
  }

  private encodeAuthData(
    flags: number,
    { rpId = this.page.rpId, userVerified = true, counter = 0 }: Answering,
  ): Buffer {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    const hash = createHash('sha256').update(rpId).digest();
    return Buffer.concat([hash, Buffer.of(flags | (userVerified ? 0x04 : 0)), count]);
  }
}

/** Encodes a P-256 public key in COSE. */
function encodeCoseKey(key: KeyObject): Buffer {
  const { x, y } = key.export({ format: 'jwk' }) as { x: string; y: string };
  const start = Buffer.of(0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01);
  const [left, right] = [Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')];
  return Buffer.concat([start, Buffer.of(0x21), encodeCborBytes(left), Buffer.of(0x22), encodeCborBytes(right)]);
}

function encodeCborText(value: string): Buffer {
  return Buffer.concat([Buffer.of(0x60 + value.length), Buffer.from(value)]);
}

function encodeCborBytes(value: Buffer): Buffer {
  const length = value.length < 256 ? [0x58, value.length] : [0x59, value.length >> 8, value.length & 255];
  return Buffer.concat([Buffer.from(length), value]);
}
