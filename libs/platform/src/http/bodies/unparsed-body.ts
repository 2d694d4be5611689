import { AppError, ignoresUnknownFields } from '@muster/contracts';
import { parseJsonBody, type JsonOptions } from './json-body';
import { readBody } from './validation';

const json = /^\s*application\/([a-z0-9.-]+\+)?json\s*(;|$)/i;

/**
 * The body of a signed route: only bytes until their signature is verified. Nothing is checked before that, so a client
 * that has not authenticated learns nothing about a body.
 */
export class UnparsedBody {
  constructor(
    readonly bytes: Buffer,
    /** Content type that the sender specified. */
    readonly contentType: string | undefined,
  ) {}

  /** Parses the body as an instance of the class, for a route that accepts only JSON. */
  async parseAs<T extends object>(type: new () => T): Promise<T> {
    if (!json.test(this.contentType ?? '')) {
      throw new AppError('unsupported_media_type', {
        detail: 'The Content-Type of the request is not accepted. Send application/json.',
      });
    }
    const halfPairs: JsonOptions['halfPairs'] = ignoresUnknownFields(type) ? 'replace' : 'refuse';
    return readBody(type, this.bytes.length === 0 ? undefined : await parseJsonBody(this.bytes, { halfPairs }));
  }
}
