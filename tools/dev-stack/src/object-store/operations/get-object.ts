import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { readByteRange } from '../byte-range';
import { evaluateReadCondition, doesRangeStillApply } from '../conditions';
import { getBucketOfCall, getKeyOfCall, type Call } from '../operation';
import { buildObjectHeaders, readResponseOverrides, addSafeHeaders } from '../object-response';
import { readBytes } from '../storage/stored-file';

/** Handles GET and HEAD: the same response with and without the bytes. */
export async function getObject(call: Call): Promise<void> {
  const { request, response } = call;
  const file = await getBucketOfCall(call).open(getKeyOfCall(call));
  try {
    const { metadata, size } = file;
    const unmodified = evaluateReadCondition(request.headers, metadata) === 'not-modified';
    const range =
      !unmodified && doesRangeStillApply(request.headers, metadata)
        ? readByteRange(request.headers.get('range'), size)
        : undefined;
    const headers = addSafeHeaders({
      ...buildObjectHeaders(metadata),
      ...readResponseOverrides(request.query),
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
