const maxEndedBoots = 8;

/**
 * SQL: the agent's ended boots with one more. Only the last boots are stored, because a delayed report of an older boot
 * is no longer to be expected.
 */
export function withEndedBoot(agent: string, boot = `${agent}.boot_id`): string {
  const ended = `${agent}.ended_boots`;
  return `CASE WHEN ${boot} IS NULL OR ${boot} = ANY(${ended}) THEN ${ended}
          ELSE (${ended} || ${boot})[cardinality(${ended}) - ${maxEndedBoots - 2}:] END`;
}
