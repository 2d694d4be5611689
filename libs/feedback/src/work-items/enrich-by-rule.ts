import type { FeedbackSeverity } from '@muster/contracts';
import type { FeedbackSubmissionEntity, FeedbackWorkItemEntity } from '@muster/database';

export type ReportText = Pick<
  FeedbackSubmissionEntity,
  'id' | 'type' | 'title' | 'description' | 'steps' | 'severity' | 'url' | 'agentId' | 'workflowId'
>;
export type Enrichment = Pick<
  FeedbackWorkItemEntity,
  'severity' | 'component' | 'summary' | 'duplicates' | 'enrichedBy'
>;

const severityPatterns: [FeedbackSeverity, RegExp][] = [
  ['critical', /\b(data loss|lost data|security|breach|outage|everything is down|all (runs|jobs) fail)\b/i],
  ['high', /\b(crash(es|ed)?|cannot|can't|fails?|failed|broken|wrong (amount|charge|claim))\b/i],
  ['low', /\b(typo|cosmetic|colou?r|spelling|alignment)\b/i],
];
export const maxSummary = 160;
export const maxComponent = 60;
export const maxDuplicates = 5;
const minLikeness = 0.6;

/**
 * Enriches a report by rules: severity, component, a summary of one line, and possible duplicates. If a language model
 * is configured, it provides the same four; `enrichedBy` names the source.
 */
export function enrichByRule(report: ReportText, others: Pick<ReportText, 'id' | 'title'>[]): Enrichment {
  const { title, description, severity, type } = report;
  const text = `${title}\n${description}`;
  const matched = severityPatterns.find(([, pattern]) => pattern.test(text))?.[0] ?? 'medium';
  const severityByRule = type === 'feature_request' ? 'low' : matched;
  const [sentence = title] = description.split(/(?<=[.!?])\s|\n/);
  const own = extractWords(title);
  return {
    severity: severity ?? severityByRule,
    component: guessComponent(report),
    summary: sentence.trim().slice(0, maxSummary) || title.slice(0, maxSummary),
    duplicates: others
      .filter((other) => computeTitleSimilarity(own, extractWords(other.title)) >= minLikeness)
      .map(({ id }) => id)
      .slice(0, maxDuplicates),
    enrichedBy: 'rule',
  };
}

function guessComponent({ workflowId, agentId, url }: ReportText): string | null {
  if (workflowId) return 'workflow';
  if (agentId) return 'agent';
  if (!url || !URL.canParse(url)) return null;
  return new URL(url).pathname.split('/').filter(Boolean)[0]?.slice(0, maxComponent) ?? null;
}

function extractWords(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []);
}

function computeTitleSimilarity(one: Set<string>, other: Set<string>): number {
  const shared = [...one].filter((word) => other.has(word)).length;
  const all = one.size + other.size - shared;
  return all === 0 ? 0 : shared / all;
}
