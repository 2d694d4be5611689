import { S3Error } from '../errors';

/** Reads lines and runs of bytes off a stream of buffers; running out early is IncompleteBody. */
export class WireReader {
  private readonly iterator: AsyncIterator<Buffer>;
  private buffered: Buffer = Buffer.alloc(0);

  constructor(wire: AsyncIterable<Buffer>) {
    this.iterator = wire[Symbol.asyncIterator]();
  }

  /** One line without its CRLF, one character per byte. */
  async line(): Promise<string> {
    for (let end = this.buffered.indexOf('\r\n'); ; end = this.buffered.indexOf('\r\n')) {
      if (end >= 0 && end <= MAX_LINE_BYTES) {
        const line = this.buffered.toString('latin1', 0, end);
        this.buffered = this.buffered.subarray(end + 2);
        return line;
      }
      if (this.buffered.length > MAX_LINE_BYTES) {
        throw new S3Error('InvalidRequest', { message: 'The aws-chunked request body is not well-formed.' });
      }
      await this.fill();
    }
  }

  /** At least one byte, at most `limit`. */
  async upTo(limit: number): Promise<Buffer> {
    while (this.buffered.length === 0) await this.fill();
    const piece = this.buffered.subarray(0, limit);
    this.buffered = this.buffered.subarray(piece.length);
    return piece;
  }

  async end(): Promise<void> {
    const { done } = this.buffered.length > 0 ? { done: false } : await this.iterator.next();
    if (!done) {
      throw new S3Error('InvalidRequest', { message: 'The aws-chunked request body goes on after its last chunk.' });
    }
  }

  /** Lets go of the stream, or what is left of a refused body could not be drained. */
  async release(): Promise<void> {
    await this.iterator.return?.();
  }

  private async fill(): Promise<void> {
    const { done, value } = await this.iterator.next();
    if (done) throw new S3Error('IncompleteBody');
    this.buffered = this.buffered.length === 0 ? value : Buffer.concat([this.buffered, value]);
  }
}

const MAX_LINE_BYTES = 1024;
