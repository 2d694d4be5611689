import { AppError } from '@muster/contracts';

export interface RoomOptions {
  maxStreams: number;
  maxStreamsPerOrganization: number;
}

/** How many streams of events there may be, of an organization and in all: those of agents and of organizations. */
export class StreamRoom {
  private all = 0;
  private readonly of = new Map<string, number>();

  constructor(private readonly options: RoomOptions) {}

  /** Throws where there are too many streams for one more. */
  require(organizationId: string): void {
    const { maxStreams, maxStreamsPerOrganization } = this.options;
    if ((this.of.get(organizationId) ?? 0) >= maxStreamsPerOrganization) {
      throw new AppError('rate_limited', {
        detail: `The organization has ${maxStreamsPerOrganization} streams open here; close one of them first.`,
        headers: { 'retry-after': '10' },
      });
    }
    if (this.all >= maxStreams) {
      throw new AppError('service_unavailable', { detail: 'There are too many streams here; try again in a moment.' });
    }
  }

  /** Answers the function that makes room again. */
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
