import { ReaderConnection, type ReaderOptions } from './reader-connection';

export interface StreamOptions extends ReaderOptions {
  agentId: string;
  /** Number of the last entry that the reader has seen. */
  seq: number;
}

/** The connection of one reader of an agent's timeline. */
export class TimelineStream extends ReaderConnection {
  readonly agentId: string;
  /** Number of the last entry that was sent or is known to be deleted. */
  seq: number;
  /** Whether the stream has caught up with the hub, so that it gets the new entries that the hub reads. */
  live = false;

  constructor({ agentId, seq, ...reader }: StreamOptions) {
    super(reader);
    this.agentId = agentId;
    this.seq = seq;
  }

  sendBytes(bytes: Buffer | string, seq: number): void {
    if (this.write(bytes)) this.seq = seq;
  }
}
