import { pipeline, Readable } from 'node:stream';
import type { Client } from 'pg';
import { AdminError } from '../admin-error';
import { createGzipStream, queryRows } from '../backup/dump-database';
import { paths } from '../backup/manifest';
import type { Repository } from '../backup/repository';
import { readServerFile } from './read-server-file';
import { getPieceFileName, getSegmentName, parsePosition, type WalFormat, type WalPiece } from './wal-position';

/** Thrown if the server has removed a part of the log that is not saved. Only a new base backup helps. */
export class WalGapError extends AdminError {}

const slotNameSql = `'muster_backup_' || pg_backend_pid()`;

/** Makes the server retain its log from now on, until the connection ends or the log is saved. */
export async function reserveWal(client: Client): Promise<void> {
  await client.query(`SELECT pg_create_physical_replication_slot(${slotNameSql}, true, true)`);
}

const maxPieceBytes = 4 * 1024 * 1024;
/** Number of pieces after which the segment is saved as one file. */
const maxPieces = 64;

/** Saves the write-ahead log of a server in a backup, piece by piece. */
export class WalFollower {
  private number = 0;
  private pieces: WalPiece[] = [];
  private position: bigint;

  constructor(
    private readonly id: string,
    private readonly repository: Repository,
    private readonly format: WalFormat,
    start: bigint,
  ) {
    this.position = start - (start % BigInt(format.segmentSize));
  }

  /**
   * Continues on a new connection. After a crash, the server may have written the end of the log again, so the current
   * segment is read again.
   */
  async resume(client: Client): Promise<void> {
    const { timeline, flushed } = await readWalState(client);
    if (timeline !== this.format.timeline) throw new WalGapError('The database was restored or promoted.');
    this.position -= this.position % BigInt(this.format.segmentSize);
    if (this.position < flushed) await this.requireSegment(client);
  }

  /** Saves everything that is on the server's disk. Returns the time up to which the database can be restored. */
  async saveNew(client: Client): Promise<string> {
    // A restore to a time needs a transaction that was committed after it.
    const [{ at }] = await queryRows<{ at: string }>(
      client,
      `SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at`,
    );
    await client.query(`SELECT pg_logical_emit_message(true, 'muster-admin', '')`);
    const { flushed } = await readWalState(client);
    while (this.position < flushed) await this.savePiece(client, flushed);
    await client.query(
      `SELECT pg_replication_slot_advance(slot_name, $1) FROM pg_replication_slots
       WHERE slot_name = ${slotNameSql} AND restart_lsn < $1::pg_lsn`,
      [formatPosition(this.position)],
    );
    return at;
  }

  private async savePiece(client: Client, flushed: bigint): Promise<void> {
    const { segmentSize } = this.format;
    const segment = getSegmentName(this.position, this.format);
    const offset = Number(this.position % BigInt(segmentSize));
    const end = Math.min(segmentSize, offset + Number(flushed - this.position));
    const isLast = end === segmentSize;
    const old = this.pieces.filter((piece) => piece.segment === segment);
    // A segment is saved again as a whole when it is complete or has many pieces.
    const from = isLast || old.length >= maxPieces ? 0 : offset;
    const piece = { segment, number: (this.number += 1), from, to: end };
    await this.requireSegment(client);
    await this.write(client, piece);
    this.pieces.push(piece);
    this.position += BigInt(end - offset);
    if (from > 0) return;
    for (const each of old) await this.repository.place.remove(paths.wal(this.id, getPieceFileName(each)));
    this.pieces = isLast ? [] : [piece];
  }

  private async write(client: Client, piece: WalPiece): Promise<void> {
    const { id, repository } = this;
    const content = pipeline(
      Readable.from(readPiece(client, piece), { objectMode: false }),
      createGzipStream(),
      () => undefined,
    );
    await repository.place.write(paths.wal(id, getPieceFileName(piece)), await repository.seal(content));
  }

  private async requireSegment(client: Client): Promise<void> {
    const segment = getSegmentName(this.position, this.format);
    const [{ present }] = await queryRows<{ present: boolean }>(
      client,
      'SELECT size IS NOT NULL AS present FROM pg_stat_file($1, true)',
      [`pg_wal/${segment}`],
    );
    if (!present) throw new WalGapError(`The server has removed the segment ${segment} before it was saved.`);
  }
}

async function* readPiece(client: Client, { segment, from, to }: WalPiece): AsyncGenerator<Buffer> {
  for (let at = from; at < to; at += maxPieceBytes) {
    const length = Math.min(maxPieceBytes, to - at);
    const content = await readServerFile(client, `pg_wal/${segment}`, { from: at, length });
    if (content?.length !== length)
      throw new WalGapError(`The server has removed the segment ${segment} before it was saved.`);
    yield content;
  }
}

/** Reads the format of the log, and the position up to which it is on disk. */
export async function readWalState(client: Client): Promise<WalFormat & { flushed: bigint }> {
  const [{ flushed, timeline, segmentSize }] = await queryRows<{
    flushed: string;
    timeline: number;
    segmentSize: number;
  }>(
    client,
    `SELECT pg_current_wal_flush_lsn()::text AS flushed,
       ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int AS timeline,
       (SELECT setting::int FROM pg_settings WHERE name = 'wal_segment_size') AS "segmentSize"`,
  );
  return { flushed: parsePosition(flushed), timeline, segmentSize };
}

function formatPosition(position: bigint): string {
  return `${(position >> 32n).toString(16).toUpperCase()}/${(position & 0xffff_ffffn).toString(16).toUpperCase()}`;
}
