import { Inject, Injectable } from '@nestjs/common';
import { RedisConnections } from '@muster/platform';

/** Time in milliseconds for which a caller reads from the primary. It is longer than the greatest age of a replica. */
const writesCountMs = 3000;

/** The callers that wrote something in the last seconds, in any process. They must not read from a replica. */
@Injectable()
export class RecentWriters {
  constructor(@Inject(RedisConnections) private readonly connections: RedisConnections) {}

  /** If Redis does not answer, the write is not recorded, and other processes most likely cannot read either. */
  async recordWrite(callerId: string): Promise<void> {
    const { client } = this.connections.getImpatientConnection();
    await client.set(this.getWriterKey(callerId), '1', 'PX', writesCountMs).catch(() => undefined);
  }

  /** Returns true if this cannot be found out, because the primary always has the newest data. */
  async hasWritten(callerId: string): Promise<boolean> {
    const { client } = this.connections.getImpatientConnection();
    return (await client.exists(this.getWriterKey(callerId)).catch(() => 1)) === 1;
  }

  private getWriterKey(callerId: string): string {
    return `${this.connections.getImpatientConnection().prefix}:wrote:${callerId}`;
  }
}
