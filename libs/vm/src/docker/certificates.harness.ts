import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

export interface Certified {
  cert: string;
  key: string;
}

/** Creates a certificate authority for tests. It encodes X.509 itself, so that only Node is needed. */
export function makeAuthority(name: string): { ca: string; issue: (subject: string) => Certified } {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const makeCertificate = (subject: string, publicKey: KeyObject, extensions: Buffer[]) => {
    const body = encodeSequence(
      encodeDer(0xa0, encodeInteger(2)),
      encodeInteger(Math.floor(Math.random() * 2 ** 30) + 1),
      ecdsaWithSha256,
      encodeDistinguishedName(name),
      encodeSequence(encodeCertificateTime(-3_600_000), encodeCertificateTime(24 * 3_600_000)),
      encodeDistinguishedName(subject),
      publicKey.export({ type: 'spki', format: 'der' }),
      encodeDer(0xa3, encodeSequence(...extensions)),
    );
    const signature = encodeDer(0x03, Buffer.from([0]), sign('sha256', body, own.privateKey));
    return encodePem('CERTIFICATE', encodeSequence(body, ecdsaWithSha256, signature));
  };
  const isAuthority = encodeSequence(encodeObjectId(2, 5, 29, 19), boolean, encodeDer(0x04, encodeSequence(boolean)));
  const atLoopback = encodeSequence(
    encodeObjectId(2, 5, 29, 17),
    encodeDer(0x04, encodeSequence(encodeDer(0x87, Buffer.from([127, 0, 0, 1])))),
  );
  return {
    ca: makeCertificate(name, own.publicKey, [isAuthority]),
    issue: (subject) => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      return { cert: makeCertificate(subject, createPublicKey(createPrivateKey(key)), [atLoopback]), key };
    },
  };
}

const boolean = encodeDer(0x01, Buffer.from([0xff]));
const ecdsaWithSha256 = encodeSequence(encodeObjectId(1, 2, 840, 10045, 4, 3, 2));

function encodeDer(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function encodeSequence(...parts: Buffer[]): Buffer {
  return encodeDer(0x30, ...parts);
}

function encodeInteger(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  const from = bytes.findIndex((byte) => byte !== 0);
  const short = bytes.subarray(from);
  return encodeDer(0x02, short[0]! & 0x80 ? Buffer.concat([Buffer.from([0]), short]) : short);
}

function encodeObjectId(first: number, second: number, ...rest: number[]): Buffer {
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const digits = [part & 0x7f];
    for (let left = part >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80);
    bytes.push(...digits);
  }
  return encodeDer(0x06, Buffer.from(bytes));
}

function encodeDistinguishedName(common: string): Buffer {
  return encodeSequence(
    encodeDer(0x31, encodeSequence(encodeObjectId(2, 5, 4, 3), encodeDer(0x0c, Buffer.from(common)))),
  );
}

function encodeCertificateTime(fromNowMs: number): Buffer {
  const text = new Date(Date.now() + fromNowMs).toISOString().replace(/[-:T]/g, '').slice(2, 14);
  return encodeDer(0x17, Buffer.from(`${text}Z`));
}

function encodePem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g)!;
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
