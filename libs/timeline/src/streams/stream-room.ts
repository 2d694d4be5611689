import { AppError } from '@muster/contracts';

export interface RoomOptions {
  maxStreams: number;
  maxStreamsPerOrganization: number;
}

/** Limits the number of open event streams, per organization and in total, in this process. */
export class StreamRoom {
  private all = 0;
  private readonly of = new Map<string, number>();

  constructor(private readonly options: RoomOptions) {}

  /** Throws if the maximum number of streams is reached. */
  require(organizationId: string): void {
    const { maxStreams, maxStreamsPerOrganization } = this.options;
    if ((this.of.get(organizationId) ?? 0) >= maxStreamsPerOrganization) {
      throw new AppError('rate_limited', {
        detail: `The organization already has ${maxStreamsPerOrganization} open event streams; close one of them first.`,
        headers: { 'retry-after': '10' },
      });
    }
    if (this.all >= maxStreams) {
      throw new AppError('service_unavailable', {
        detail: 'There are too many open event streams; try again in a moment.',
      });
    }
  }

  /** Counts a stream. Returns the function that removes it from the count. */
  take(organizationId: string): () => void {
    this.all += 1;
    this.of.set(organizationId, (this.of.get(organizationId) ?? 0) + 1);
    return () => {
      this.all -= 1;
      const left = this.of.get(organizationId)! - 1;
      if (left > 0) this.of.set(organizationId, left);
      else this.of.delete(organizationId);
    };
  }
}
