import { createHash } from 'node:crypto';

/** Size and hashes of an object's bytes, computed while the bytes are streamed. */
export class BodyDigest {
  size = 0;
  private readonly md5 = createHash('md5');
  private readonly sha256 = createHash('sha256');

  constructor(private readonly options: { withSha256?: boolean } = {}) {}

  update(chunk: Buffer): void {
    this.size += chunk.length;
    this.md5.update(chunk);
    if (this.options.withSha256) this.sha256.update(chunk);
  }

  /** Returns the hashes. May be called only once, because Node's hashes are finalized by their digest. */
  finish(): { md5: Buffer; sha256Hex: string } {
    return { md5: this.md5.digest(), sha256Hex: this.sha256.digest('hex') };
  }
}

/** Passes the bytes through unchanged and adds them to the digest. */
export async function* updateDigestWhileReading(
  chunks: AsyncIterable<Buffer>,
  digest: BodyDigest,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    digest.update(chunk);
    yield chunk;
  }
}
