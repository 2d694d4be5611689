import { type BeforeApplicationShutdown, Inject, Injectable, Logger } from '@nestjs/common';
import type { ReadSubject } from '@muster/contracts';
import { Database, rowsToColumns } from '@muster/database';
import { Clock, newId } from '@muster/platform';
import type { Principal } from '../principal';
import { closeAfterMs } from './chain/close-days';
import { computeRowDigest } from './chain/presented-rows';
import type { AccessRow } from './list-accesses';

interface Reading {
  principal: Principal;
  address: string;
  /** The route's pattern, with the names of its parameters instead of their values. */
  route: string;
  subject: { type: ReadSubject; id: string };
}

type Row = AccessRow & { organizationId: string; minute: Date };

const flushMs = 1000;
const maxRowsPerInsert = 1000;
/** Maximum number of rows in memory while the database is unavailable. Further reads are logged as lost. */
const maxWaitingRows = 50_000;

/**
 * Records who read data that may be about a patient. Rows are collected and inserted together once per second, so a
 * read neither waits for its row nor fails with it. Repeated reads of one subject by one caller within a minute leave
 * one row.
 */
@Injectable()
export class AccessLog implements BeforeApplicationShutdown {
  private readonly logger = new Logger('access log');
  private waiting: Row[] = [];
  private readonly recordedKeys = new Set<string>();
  private minute = 0;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();
  private isEnding = false;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  recordRead({ principal, address, route, subject }: Reading): void {
    const at = this.clock.now();
    const minute = Math.floor(at.getTime() / 60_000) * 60_000;
    if (minute !== this.minute) this.recordedKeys.clear();
    this.minute = minute;
    const { organizationId, kind, id } = principal;
    const key = [organizationId, id, route, subject.id].join(' ');
    if (this.recordedKeys.has(key)) return;
    if (this.waiting.length >= maxWaitingRows) {
      this.logger.error(`${maxWaitingRows} access log entries wait for the database; a further read was not recorded`);
      return;
    }
    this.recordedKeys.add(key);
    const email = principal.kind === 'user' ? principal.email : null;
    this.waiting.push({
      ...{ id: newId(), organizationId, minute: new Date(minute), at, actorKind: kind, actorId: id, actorEmail: email },
      ...{ address, route, subjectType: subject.type, subjectId: subject.id },
    });
    if (this.isEnding || this.waiting.length >= maxRowsPerInsert) void this.flushWaitingRows();
    else this.timer ??= setTimeout(() => void this.flushWaitingRows(), flushMs).unref();
  }

  /** Inserts the collected rows. Resolves when they are in the database, or when this attempt has failed. */
  flushWaitingRows(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writing = this.writing.then(() => this.writeWaitingRows());
    return this.writing;
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isEnding = true;
    await this.flushWaitingRows();
  }

  /**
   * Returns the row. If the row waited for the database so long that its day may be closed, it gets the present time.
   * The limit is half of `closeAfterMs`, so that the other half remains for the insert.
   */
  private redateLateRow(row: Row): Row {
    const now = this.clock.now();
    return now.getTime() - row.at.getTime() < closeAfterMs / 2 ? row : { ...row, id: newId(), at: now };
  }

  private async writeWaitingRows(): Promise<void> {
    while (this.waiting.length > 0) {
      const rows = this.waiting.slice(0, maxRowsPerInsert);
      try {
        const redateLateRow = rows.map((row) => this.redateLateRow(row));
        const first = new Date(Math.min(...redateLateRow.map(({ at }) => at.getTime())));
        const values = [...rowsToColumns(redateLateRow.map(listRowValues)), first];
        await this.database.transaction('system', (tx) => tx.execute(insertRows, values));
      } catch (error) {
        this.logger.warn('could not insert access log entries; retrying', { err: error });
        if (!this.isEnding) this.timer ??= setTimeout(() => void this.flushWaitingRows(), flushMs).unref();
        return;
      }
      this.waiting = this.waiting.slice(rows.length);
    }
  }
}

function listRowValues(row: Row): unknown[] {
  const { id, organizationId, minute, at, actorKind, actorId, actorEmail, address, route, subjectType, subjectId } =
    row;
  return [
    ...[id, organizationId, minute, at, actorKind, actorId, actorEmail, address, route, subjectType, subjectId],
    computeRowDigest('access', organizationId, row),
  ];
}

/** The join drops the rows of organizations that were deleted after the read. */
const insertRows = `
  INSERT INTO access_entry (id, organization_id, minute, at, actor_kind, actor_id, actor_email, address, route,
                            subject_type, subject_id, digest)
  SELECT r.* FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::text[], $7::text[],
                         $8::text[], $9::text[], $10::text[], $11::text[], $12::bytea[])
    AS r (id, organization_id, minute, at, actor_kind, actor_id, actor_email, address, route, subject_type, subject_id,
          digest)
  JOIN organization o ON o.id = r.organization_id
  WHERE require_open_audit_day($13)
  ON CONFLICT (organization_id, actor_id, subject_id, route, minute) DO NOTHING`;
