import { Injectable } from '@nestjs/common';

/** Open responses that never end by themselves. They are ended first at shutdown; closing waits for them else. */
@Injectable()
export class OpenStreams {
  private readonly ends = new Set<() => void>();

  get count(): number {
    return this.ends.size;
  }

  /** Answers the function that takes the stream off the list. */
  add(end: () => void): () => void {
    this.ends.add(end);
    return () => this.ends.delete(end);
  }

  endAll(): void {
    for (const end of this.ends) end();
    this.ends.clear();
  }
}
