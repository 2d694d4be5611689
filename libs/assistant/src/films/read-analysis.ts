import { notFoundError } from '@muster/contracts';
import type { Database, VideoAnalysisEntity } from '@muster/database';

export type AnalysisState = Pick<
  VideoAnalysisEntity,
  | 'id'
  | 'status'
  | 'progress'
  | 'workflowId'
  | 'error'
  | 'code'
  | 'frames'
  | 'inputTokens'
  | 'outputTokens'
  | 'costMicros'
>;

export async function readAnalysis(
  database: Database,
  analysisRef: { organizationId: string; agentId: string; analysisId: string },
): Promise<AnalysisState> {
  const { organizationId, agentId, analysisId } = analysisRef;
  const [row] = await database.query<AnalysisState>(
    { organizationId },
    `SELECT id, status, progress, workflow_id, error, code, frames, input_tokens, output_tokens, cost_micros
     FROM video_analysis WHERE id = $1 AND agent_id = $2 AND organization_id = $3`,
    [analysisId, agentId, organizationId],
  );
  if (!row) throw notFoundError('analysis');
  return row;
}
