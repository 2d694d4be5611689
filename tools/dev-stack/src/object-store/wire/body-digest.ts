import { createHash } from 'node:crypto';

/** Everything an object's metadata says about its bytes, computed while they pass by. */
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

  /** Once only: node's hashes end with their digest. */
  finish(): { md5: Buffer; sha256Hex: string } {
    return { md5: this.md5.digest(), sha256Hex: this.sha256.digest('hex') };
  }
}

/** Lets the bytes through unchanged while the digest sees them. */
export async function* digesting(chunks: AsyncIterable<Buffer>, digest: BodyDigest): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    digest.update(chunk);
    yield chunk;
  }
}
