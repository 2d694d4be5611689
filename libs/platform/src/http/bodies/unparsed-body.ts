import { AppError, ignoresUnknownFields } from '@muster/contracts';
import { parseJsonBody, type JsonOptions } from './json-body';
import { readBody } from './validation';

const json = /^\s*application\/([a-z0-9.-]+\+)?json\s*(;|$)/i;

/**
 * The body of a signed route: bytes alone until their signature was verified. Nothing of them is judged before, so that
 * whoever has not proved who they are learns nothing about a body.
 */
export class UnparsedBody {
  constructor(
    readonly bytes: Buffer,
    /** What the sender called them. */
    readonly contentType: string | undefined,
  ) {}

  /** The body as the class says, for a route that takes JSON and nothing else. */
  async read<T extends object>(type: new () => T): Promise<T> {
    if (!json.test(this.contentType ?? '')) {
      throw new AppError('unsupported_media_type', { detail: 'The content type must be application/json.' });
    }
    const halfPairs: JsonOptions['halfPairs'] = ignoresUnknownFields(type) ? 'replace' : 'refuse';
    return readBody(type, this.bytes.length === 0 ? undefined : await parseJsonBody(this.bytes, { halfPairs }));
  }
}
