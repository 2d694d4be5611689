import { ReaderConnection, type ReaderOptions } from './reader-connection';

export interface StreamOptions extends ReaderOptions {
  agentId: string;
  /** What its reader has seen. */
  seq: number;
}

/** One reader of an agent's timeline. */
export class TimelineStream extends ReaderConnection {
  readonly agentId: string;
  /** The last entry that was sent, or whose absence is known. */
  seq: number;
  /** Has met the hub, and gets what the hub reads. */
  live = false;

  constructor({ agentId, seq, ...reader }: StreamOptions) {
    super(reader);
    this.agentId = agentId;
    this.seq = seq;
  }

  send(bytes: Buffer | string, seq: number): void {
    if (this.write(bytes)) this.seq = seq;
  }
}
