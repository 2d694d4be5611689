/**
 * SQL condition over the agent: it can start a job now. `isNamed` is a condition under which the job may also be of an
 * agent that takes no jobs of targets.
 */
export const isIdleAgentSql = (
  agent: string,
  isNamed = 'false',
) => `(${agent}.status = 'online' AND ${agent}.drain IS NULL
  AND (${agent}.placement OR ${isNamed}) AND ${agent}.current_job_id IS NULL AND ${agent}.autopilot_session_id IS NULL
  AND ${agent}.clearing_command_id IS NULL)`;

/** SQL condition over the agent: it has all of the labels, whatever its status. */
export const agentHasLabelsSql = (agent: string, organization: string, labels: string) =>
  `(${agent}.organization_id = ${organization} AND ${agent}.status <> 'terminated' AND ${agent}.labels @> ${labels})`;

/** SQL condition over the job: its agent, or one that it fits if it has none, can start it now. */
export const hasIdleAgentSql = (job: string) => `CASE WHEN ${job}.agent_id IS NULL
  THEN EXISTS (SELECT FROM agent a WHERE ${agentHasLabelsSql('a', `${job}.organization_id`, `${job}.target_labels`)} AND ${isIdleAgentSql('a')})
  ELSE EXISTS (SELECT FROM agent a WHERE a.id = ${job}.agent_id AND ${isIdleAgentSql('a', 'true')}) END`;

const isDraining = `(a.drain IS NOT NULL OR a.status = 'draining')`;

/**
 * SQL for the number of fitting agents in each state, in the form of `waiting.detail`. An agent is counted as busy if
 * it is online and cannot start a job now.
 */
export const countFittingAgentsSql = (
  organization: string,
  labels: string,
  isFitting = agentHasLabelsSql('a', organization, labels),
) => `(
  SELECT json_build_object('fits', count(*),
    'busy', count(*) FILTER (WHERE a.status = 'online' AND NOT ${isDraining}
      AND (a.current_job_id IS NOT NULL OR a.autopilot_session_id IS NOT NULL OR a.clearing_command_id IS NOT NULL)),
    'waking', count(*) FILTER (WHERE a.status IN ('starting', 'rebooting') AND NOT ${isDraining}),
    'draining', count(*) FILTER (WHERE ${isDraining}),
    'off', count(*) FILTER (WHERE a.status IN ('stopped', 'offline', 'stopping') AND NOT ${isDraining}))
  FROM agent a WHERE ${isFitting})`;

/** SQL over `job j`: how many agents fit the job and what they do, if the job waits for one of them. */
export const waitingForAgent = `(CASE
  WHEN j.status = 'queued' AND j.agent_id IS NULL AND j.waiting_reason IN ('no_agent_free', 'no_agent_online', 'agent_waking')
  THEN ${countFittingAgentsSql('j.organization_id', 'j.target_labels')} END)`;
