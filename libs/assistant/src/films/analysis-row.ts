import type { VideoAnalysisEntity } from '@muster/database';

/** What a handling of an analysis works on. */
export type AnalysisRow = Omit<VideoAnalysisEntity, 'createdAt' | 'dueAt' | 'workflowId' | 'error' | 'code'>;

export type AnalysisCode =
  'recording_not_found' | 'recording_unreadable' | 'recording_too_long' | 'no_steps_found' | 'frames_unavailable';

/** The analysis is over, and this is why. */
export class AnalysisFault extends Error {
  override name = 'AnalysisFault';

  constructor(
    readonly code: AnalysisCode | 'model_not_configured',
    message: string,
  ) {
    super(message);
  }
}

export const maxFrames = 200;
export const maxFilmMs = 60 * 60_000;

/** Where a frame of an analysis is kept, by its number. */
export function frameKey({ organizationId, id }: Pick<AnalysisRow, 'organizationId' | 'id'>, number: number): string {
  return `films/${organizationId}/${id}/${number}.jpg`;
}
