import { type BeforeApplicationShutdown, Inject, Injectable, Logger } from '@nestjs/common';
import type { ReadSubject } from '@muster/contracts';
import { Database, transposed } from '@muster/database';
import { Clock, newId } from '@muster/platform';
import type { Principal } from '../principal';

interface Reading {
  principal: Principal;
  address: string;
  /** With the names of its parameters in place of their values. */
  route: string;
  subject: { type: ReadSubject; id: string };
}

type Row = [
  ...[id: string, organizationId: string, minute: Date, at: Date, actorKind: string, actorId: string],
  ...[actorEmail: string | null, address: string, route: string, subjectType: string, subjectId: string],
];

const flushMs = 1000;
const mostAtOnce = 1000;
/** So many wait while the database is away. What comes beyond that is said in the log, and lost. */
const mostWaiting = 50_000;

/**
 * Who read what may be a patient's. Rows are collected and written together, once a second: a read neither waits for its
 * row nor fails with it. The same person reading the same thing again within a minute leaves no further row.
 */
@Injectable()
export class AccessLog implements BeforeApplicationShutdown {
  private readonly logger = new Logger('access log');
  private waiting: Row[] = [];
  private readonly seen = new Set<string>();
  private minute = 0;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();
  private isEnding = false;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  record({ principal, address, route, subject }: Reading): void {
    const at = this.clock.now();
    const minute = Math.floor(at.getTime() / 60_000) * 60_000;
    if (minute !== this.minute) this.seen.clear();
    this.minute = minute;
    const { organizationId, kind, id } = principal;
    const key = [organizationId, id, route, subject.id].join(' ');
    if (this.seen.has(key)) return;
    if (this.waiting.length >= mostWaiting) {
      this.logger.error(`${mostWaiting} rows wait for the database: a read was not written down`);
      return;
    }
    this.seen.add(key);
    const email = principal.kind === 'user' ? principal.email : null;
    this.waiting.push([
      ...([newId(), organizationId, new Date(minute), at, kind, id] as const),
      ...([email, address, route, subject.type, subject.id] as const),
    ]);
    if (this.isEnding || this.waiting.length >= mostAtOnce) void this.flush();
    else this.timer ??= setTimeout(() => void this.flush(), flushMs).unref();
  }

  /** Writes what waits, and is done when that is in the database, or could not be written now. */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writing = this.writing.then(() => this.write());
    return this.writing;
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.isEnding = true;
    await this.flush();
  }

  private async write(): Promise<void> {
    while (this.waiting.length > 0) {
      const rows = this.waiting.slice(0, mostAtOnce);
      try {
        await this.database.transaction('system', (tx) => tx.execute(insertRows, transposed(rows)));
      } catch (error) {
        this.logger.warn('reads could not be written down; it is tried again', { err: error });
        if (!this.isEnding) this.timer ??= setTimeout(() => void this.flush(), flushMs).unref();
        return;
      }
      this.waiting = this.waiting.slice(rows.length);
    }
  }
}

/** An organization that was deleted meanwhile has no log any more. */
const insertRows = `
  INSERT INTO access_entry (id, organization_id, minute, at, actor_kind, actor_id, actor_email, address, route,
                            subject_type, subject_id)
  SELECT r.* FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::text[], $7::text[],
                         $8::text[], $9::text[], $10::text[], $11::text[])
    AS r (id, organization_id, minute, at, actor_kind, actor_id, actor_email, address, route, subject_type, subject_id)
  JOIN organization o ON o.id = r.organization_id
  ON CONFLICT (organization_id, actor_id, subject_id, route, minute) DO NOTHING`;
