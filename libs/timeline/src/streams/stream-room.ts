import { AppError } from '@muster/contracts';

export interface RoomOptions {
  maxStreams: number;
  maxStreamsPerOrganization: number;
}

/** Limits the number of open event streams of this process: in total and for each organization. */
export class StreamRoom {
  private open = 0;
  private readonly openByOrganization = new Map<string, number>();

  constructor(private readonly options: RoomOptions) {}

  /** Throws if the maximum number of open streams is reached. */
  requireFreeStreamSlot(organizationId: string): void {
    const { maxStreams, maxStreamsPerOrganization } = this.options;
    if ((this.openByOrganization.get(organizationId) ?? 0) >= maxStreamsPerOrganization) {
      throw new AppError('rate_limited', {
        detail: `The organization already has ${maxStreamsPerOrganization} open event streams; close one of them first.`,
        headers: { 'retry-after': '10' },
      });
    }
    if (this.open >= maxStreams) {
      throw new AppError('service_unavailable', {
        detail: 'There are too many open event streams; try again in a moment.',
      });
    }
  }

  /** Counts a stream. Returns a function that ends the counting of this stream. */
  takeStreamSlot(organizationId: string): () => void {
    this.open += 1;
    this.openByOrganization.set(organizationId, (this.openByOrganization.get(organizationId) ?? 0) + 1);
    return () => {
      this.open -= 1;
      const left = this.openByOrganization.get(organizationId)! - 1;
      if (left > 0) this.openByOrganization.set(organizationId, left);
      else this.openByOrganization.delete(organizationId);
    };
  }
}
