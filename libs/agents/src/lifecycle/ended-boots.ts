const kept = 8;

/**
 * An agent's ended boots with one more, as an SQL expression: only the last ones, as an older one's words can only have
 * hung on the way for so long.
 */
export function withEndedBoot(agent: string, boot = `${agent}.boot_id`): string {
  const ended = `${agent}.ended_boots`;
  return `CASE WHEN ${boot} IS NULL OR ${boot} = ANY(${ended}) THEN ${ended}
          ELSE (${ended} || ${boot})[cardinality(${ended}) - ${kept - 2}:] END`;
}
