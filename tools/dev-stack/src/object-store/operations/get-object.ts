import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { readByteRange } from '../byte-range';
import { evaluateReadCondition, rangeStillApplies } from '../conditions';
import { callBucket, callKey, type Call } from '../operation';
import { objectResponseHeaders, responseOverrides, withSafeHeaders } from '../object-response';
import { readBytes } from '../storage/stored-file';

/** Handles GET and HEAD: the same response with and without the bytes. */
export async function getObject(call: Call): Promise<void> {
  const { request, response } = call;
  const file = await callBucket(call).open(callKey(call));
  try {
    const { metadata, size } = file;
    const unmodified = evaluateReadCondition(request.headers, metadata) === 'not-modified';
    const range =
      !unmodified && rangeStillApplies(request.headers, metadata)
        ? readByteRange(request.headers.get('range'), size)
        : undefined;
    const headers = withSafeHeaders({
      ...objectResponseHeaders(metadata),
      ...responseOverrides(request.query),
    });
    if (unmodified) {
      response.writeHead(304, { etag: headers['etag'], 'last-modified': headers['last-modified'] });
      response.end();
      return;
    }
    const { start, end } = range ?? { start: 0, end: size - 1 };
    response.writeHead(range ? 206 : 200, {
      ...headers,
      'content-length': end - start + 1,
      ...(range ? { 'content-range': `bytes ${start}-${end}/${size}` } : {}),
    });
    if (request.method === 'HEAD') response.end();
    else await pipeline(Readable.from(readBytes(file, { start, end }), { objectMode: false }), response);
  } finally {
    await file.handle.close();
  }
}
