import type { TimelineRow } from '@muster/timeline';
import type { AgentLogEntry } from '@muster/contracts';

export function presentTimelineEntry(row: TimelineRow): AgentLogEntry {
  const { seq, kind, level, message, source, jobId, data, at } = row;
  return { id: String(seq), kind, level, message, source, jobId, data, timestamp: at.toISOString() };
}
