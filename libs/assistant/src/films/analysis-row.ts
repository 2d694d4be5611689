import type { VideoAnalysisEntity } from '@muster/database';

/** The columns that the steps of an analysis use. */
export type AnalysisRow = Omit<VideoAnalysisEntity, 'createdAt' | 'dueAt' | 'workflowId' | 'error' | 'code'>;

export type AnalysisCode =
  'recording_not_found' | 'recording_unreadable' | 'recording_too_long' | 'no_steps_found' | 'frames_unavailable';

/** A permanent error, which fails the analysis. */
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

/** Returns the object key of a frame. The first frame has the number 1. */
export function buildFrameKey(
  { organizationId, id }: Pick<AnalysisRow, 'organizationId' | 'id'>,
  number: number,
): string {
  return `films/${organizationId}/${id}/${number}.jpg`;
}
