import { once } from 'node:events';
import { Logger } from '@nestjs/common';
import type { OpenStreams } from '@muster/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { startResponse } from './open-event-stream';

interface Answering {
  request: FastifyRequest;
  reply: FastifyReply;
  streams: OpenStreams;
}

const logger = new Logger('CSV');

/** Streams a table as CSV, no faster than the client reads it. A failed response ends without its last chunk. */
export async function streamCsv(
  { request, reply, streams }: Answering,
  filename: string,
  pieces: AsyncIterable<string>,
): Promise<void> {
  const raw = startResponse(reply, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${filename}"`,
  });
  if (request.method === 'HEAD') return void raw.end();
  await streams.runWaiting(request.raw.socket, 'export', async (ended) => {
    try {
      for await (const piece of pieces) {
        if (ended.aborted) break;
        if (!raw.write(piece)) await once(raw, 'drain', { signal: ended });
      }
      if (ended.aborted) raw.destroy();
      else raw.end();
    } catch (error) {
      // The headers have been sent, so an aborted response is the only way left to report the failure.
      raw.destroy();
      if (!ended.aborted) logger.error('a CSV export failed', { err: error });
    }
  });
}
