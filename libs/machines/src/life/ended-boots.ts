const maxEndedBoots = 8;

/**
 * SQL: the agent's ended boots and one more. Only the last eight boots are stored, because no report of an older boot
 * is expected any more.
 */
export function appendEndedBootSql(agent: string, boot = `${agent}.boot_id`): string {
  const ended = `${agent}.ended_boots`;
  return `CASE WHEN ${boot} IS NULL OR ${boot} = ANY(${ended}) THEN ${ended}
          ELSE (${ended} || ${boot})[cardinality(${ended}) - ${maxEndedBoots - 2}:] END`;
}
