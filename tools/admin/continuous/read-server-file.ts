import type { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';

/** Bytes before the first row in COPY's binary format, and before the only column of a row. */
const headerBytes = 19;
const columnHeaderBytes = 6;

/** Returns a part of a file in the server's data directory; null if the file no longer exists. */
export async function readServerFile(
  client: Client,
  path: string,
  { from, length }: { from: number; length: number },
): Promise<Buffer | null> {
  // COPY returns the bytes as they are; the driver reads every column of a query as text.
  const statement = `SELECT pg_read_binary_file(${client.escapeLiteral(path)}, ${from}, ${length}, true)`;
  const chunks: Buffer[] = [];
  for await (const chunk of client.query(copyTo(`COPY (${statement}) TO STDOUT (FORMAT binary)`)))
    chunks.push(chunk as Buffer);
  const answer = Buffer.concat(chunks);
  const size = answer.readInt32BE(headerBytes + columnHeaderBytes - 4);
  const start = headerBytes + columnHeaderBytes;
  return size < 0 ? null : answer.subarray(start, start + size);
}
