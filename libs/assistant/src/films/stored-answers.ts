import type { Database, Transaction, VideoAnswerEntity } from '@muster/database';
import { type ModelUsage, parseStructured, sumUsages } from '@muster/models';
import type { PaidAnswer } from '@muster/pricing';
import type { AnalysisRow } from './analysis-row';
import { seenSchema } from './ask-about-frames';
import type { SeenStep } from './film-steps';

type QuestionRef = Pick<AnalysisRow, 'id' | 'organizationId' | 'asked'>;
type StoredAnswer = Pick<VideoAnswerEntity, 'answer' | 'inputTokens' | 'outputTokens' | 'costMicros'>;

/**
 * Returns the steps from an answer of the model for these frames, if a process stored the answer before it died. The
 * steps are null if no stored answer is valid. The usage is that of all stored answers for these frames.
 */
export async function findStoredAnswer(
  database: Database,
  { id, organizationId, asked: framesAsked }: QuestionRef,
): Promise<{ steps: SeenStep[] | null; usage: ModelUsage }> {
  const rows = await database.query<StoredAnswer>(
    { organizationId },
    `SELECT answer, input_tokens, output_tokens, cost_micros FROM video_answer
     WHERE analysis_id = $1 AND asked = $2 AND organization_id = $3 ORDER BY model_call_id`,
    [id, framesAsked, organizationId],
    'stored_film_answers',
  );
  const fitting = rows.map(({ answer }) => parseStructured<{ steps: SeenStep[] }>(seenSchema, answer)).find(Boolean);
  const usages = rows.map(({ inputTokens, outputTokens, costMicros }) => ({
    ...{ calls: 1, inputTokens, outputTokens, costMicros: Number(costMicros) },
  }));
  return { steps: fitting?.steps ?? null, usage: sumUsages(usages) };
}

/** Stores the model's answer in the transaction that books its cost, so that no answer is paid and then lost. */
export function createAnswerSaver({ id, organizationId, asked: framesAsked }: QuestionRef) {
  return (tx: Transaction, { modelCallId, content, inputTokens, outputTokens, costMicros }: PaidAnswer): void =>
    tx.deferStatement(
      `INSERT INTO video_answer
         (analysis_id, asked, model_call_id, organization_id, answer, input_tokens, output_tokens, cost_micros)
       SELECT id, $2, $3, $4, $5, $6, $7, $8 FROM video_analysis WHERE id = $1 AND organization_id = $4`,
      [
        id,
        framesAsked,
        modelCallId,
        organizationId,
        content.replaceAll('\0', ''),
        inputTokens,
        outputTokens,
        costMicros,
      ],
      'store_film_answer',
    );
}
